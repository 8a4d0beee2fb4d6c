// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/wandb/SignIn.h"
#include "tests/support/TestMain.h"

#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <map>

using namespace modulelens;

namespace {

const std::string kKey(40, 'k');

wandb::Environment environmentOf(std::map<std::string, std::string> variables) {
    return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

}  // namespace

class SignInTest : public QObject {
    Q_OBJECT

private slots:
    void environment_givesKeyAndAddress() {
        const auto signIn = wandb::findSignIn(base::realFileSystem(), environmentOf({{"WANDB_API_KEY", kKey},
                                                                                     {"WANDB_BASE_URL", "https://w.example//"},
                                                                                     {"SSL_CERT_FILE", "/ca.pem"},
                                                                                     {"MODULELENS_WANDB_PROJECT", "mine"}}));
        QVERIFY(signIn.hasValue());
        QCOMPARE(signIn->key, kKey);
        QCOMPARE(signIn->baseUrl, std::string("https://w.example"));
        QCOMPARE(signIn->caFile, std::string("/ca.pem"));
        QCOMPARE(signIn->project, std::string("mine"));
    }

    void setting_givesTheAddress_whenTheEnvironmentDoesNot() {
        const auto variables = environmentOf({{"WANDB_API_KEY", kKey}});
        QCOMPARE(wandb::findSignIn(base::realFileSystem(), variables, "https://set.example/x/")->baseUrl,
                 std::string("https://set.example/x"));
        QCOMPARE(wandb::findSignIn(base::realFileSystem(), variables)->baseUrl, std::string("https://api.wandb.ai"));
    }

    void netrc_givesTheKeyOfHostAndPort() {
        QTemporaryDir folder;
        const std::string home = folder.path().toStdString();
        std::ofstream(home + "/.netrc") << "machine 127.0.0.1:9090 login user password " << kKey
                                        << "\nmachine api.wandb.ai password " << std::string(40, 'p') << '\n';
        const auto variables = environmentOf({{"HOME", home}, {"WANDB_BASE_URL", "http://127.0.0.1:9090"}});
        QCOMPARE(wandb::findSignIn(base::realFileSystem(), variables)->key, kKey);
        const auto other = wandb::findSignIn(base::realFileSystem(),
                                             environmentOf({{"HOME", home}, {"WANDB_BASE_URL", "http://127.0.0.1:9091"}}));
        QVERIFY(!other.hasValue());
        QCOMPARE(other.error().code, base::ErrorCode::Unavailable);
        // One deployment under several names.
        const auto alias = environmentOf({{"HOME", home}, {"WANDB_BASE_URL", "https://api.forge.coreweave.com"}});
        QCOMPARE(wandb::findSignIn(base::realFileSystem(), alias)->key, std::string(40, 'p'));
    }

    void netrcNamedByTheEnvironment_isTheOnlyOne() {
        QTemporaryDir folder;
        const std::string home = folder.path().toStdString();
        std::ofstream(home + "/.netrc") << "default password " << kKey << '\n';
        QVERIFY(wandb::findSignIn(base::realFileSystem(), environmentOf({{"HOME", home}})).hasValue());
        QVERIFY(
            !wandb::findSignIn(base::realFileSystem(), environmentOf({{"HOME", home}, {"NETRC", home + "/none"}})).hasValue());
    }

    void keys_haveAForm() {
        QVERIFY(wandb::isKeyForm(kKey));
        QVERIFY(wandb::isKeyForm("local-" + kKey));
        QVERIFY(wandb::isKeyForm("header.payload.signature"));
        for (const std::string& text : {std::string(), std::string(39, 'k'), kKey + " ", kKey + "\n", std::string("a.b"),
                                        std::string("..."), std::string("a..b")}) {
            QVERIFY2(!wandb::isKeyForm(text), text.c_str());
        }
    }

    void unfitKey_isNotShown() {
        const auto signIn = wandb::findSignIn(base::realFileSystem(), environmentOf({{"WANDB_API_KEY", "secret"}}));
        QVERIFY(!signIn.hasValue());
        QVERIFY(signIn.error().text().find("secret") == std::string::npos);
    }

    void unfitAddress_isRefused() {
        const auto signIn =
            wandb::findSignIn(base::realFileSystem(), environmentOf({{"WANDB_API_KEY", kKey}, {"WANDB_BASE_URL", "ftp://x"}}));
        QCOMPARE(signIn.error().code, base::ErrorCode::InvalidArgument);
    }
};

ML_TEST_MAIN(SignInTest)
#include "tst_SignIn.moc"
