// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/Names.h"
#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens;

class NamesTest : public QObject {
    Q_OBJECT

private slots:
    void addresses_areReadAndWritten() {
        const auto address = wandb::parseRegistryAddress("wandb:team-a/modulelens");
        QVERIFY(address.hasValue());
        QCOMPARE(address->entity, std::string("team-a"));
        QCOMPARE(address->registry, std::string("modulelens"));
        QCOMPARE(address->text(), std::string("wandb:team-a/modulelens"));
        QCOMPARE(wandb::registryProject(address->registry), std::string("wandb-registry-modulelens"));
        QCOMPARE(wandb::parseRegistryAddress("wandb:a/wandb-registry-x")->registry, std::string("x"));
    }

    void unfitAddresses_areRefused() {
        const std::string tooLong = "wandb:a/" + std::string(114, 'x');
        QVERIFY(wandb::parseRegistryAddress("wandb:a/" + std::string(113, 'x')).hasValue());
        for (const std::string& text :
             {std::string("wandb:"), std::string("wandb:a"), std::string("wandb:/b"), std::string("wandb:a/"),
              std::string("wandb:a/b/c"), std::string("wandb:a/b#c"), std::string("wandb:a/b\n"), std::string("wandb:a:b/c"),
              std::string("folder/x"), tooLong}) {
            QVERIFY2(!wandb::parseRegistryAddress(text).hasValue(), text.c_str());
        }
    }

    void tags_areWords() {
        for (const char* fit : {"nightly", "two words", "a-b_c", "-x", "gr\xc3\xbcn"}) {
            QVERIFY2(wandb::checkTag(fit).hasValue(), fit);
        }
        for (const char* unfit : {"", " a", "a ", "v1.2", "a/b", "a:b", "a\nb"}) {
            QVERIFY2(!wandb::checkTag(unfit).hasValue(), unfit);
        }
        QVERIFY(wandb::checkTag(std::string(128, 'x')).hasValue());
        QVERIFY(!wandb::checkTag(std::string(129, 'x')).hasValue());
    }

    void aliases_areNotThoseOfTheRegistry() {
        for (const char* fit : {"golden", "v1.2", "production candidate"}) {
            QVERIFY2(wandb::checkAlias(fit).hasValue(), fit);
        }
        for (const char* unfit : {"", "latest", "v3", "a/b", "a:b", "a\tb"}) {
            QVERIFY2(!wandb::checkAlias(unfit).hasValue(), unfit);
        }
    }

    void collections_haveASmallAlphabet() {
        QVERIFY(wandb::checkCollection("registered_model_a.b-c").hasValue());
        for (const std::string& unfit : {std::string(), std::string("a/b"), std::string("a b"), std::string("a:b"),
                                         std::string("\xf0\x9f\x98\x80"), std::string(129, 'x')}) {
            QVERIFY2(!wandb::checkCollection(unfit).hasValue(), unfit.c_str());
        }
    }
};

ML_TEST_MAIN(NamesTest)
#include "tst_Names.moc"
