// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "backend/protocol/OptimizerSettings.h"

#include "tests/support/TestMain.h"

#include <QTest>

using namespace modulelens::protocol;

class OptimizerSettingsTest : public QObject {
    Q_OBJECT

private slots:
    void names_haveTheDefaultsOfTorchOptim() {
        const auto sgd = parseOptimizer("sgd");
        QVERIFY(sgd && sgd->kind == OptimizerKind::GradientDescent && !sgd->isNesterov);
        QCOMPARE(sgd->learningRate, 1e-3);
        QCOMPARE(sgd->momentum, 0.0);
        QCOMPARE(sgd->weightDecay, 0.0);
        const auto adam = parseOptimizer("adam");
        QVERIFY(adam && adam->kind == OptimizerKind::Adam);
        QCOMPARE(adam->weightDecay, 0.0);
        const auto adamw = parseOptimizer("adamw");
        QVERIFY(adamw && adamw->kind == OptimizerKind::DecoupledAdam);
        QCOMPARE(adamw->weightDecay, 1e-2);
        QCOMPARE(adamw->secondBeta, 0.999);
    }

    void settings_areRead() {
        const auto sgd = parseOptimizer("sgd,lr=0.5,momentum=0.9,nesterov=1,weight_decay=1e-4");
        QVERIFY(sgd && sgd->isNesterov);
        QCOMPARE(sgd->learningRate, 0.5);
        QCOMPARE(sgd->momentum, 0.9);
        QCOMPARE(sgd->weightDecay, 1e-4);
        const auto adam = parseOptimizer("adam,beta1=0.8,beta2=0.95,eps=1e-6");
        QVERIFY(adam);
        QCOMPARE(adam->firstBeta, 0.8);
        QCOMPARE(adam->secondBeta, 0.95);
        QCOMPARE(adam->epsilon, 1e-6);
    }

    void others_areRefused_data() {
        QTest::addColumn<QString>("text");
        for (const char* text :
             {"", "lion", "SGD", "sgd,", "sgd,,lr=1", "sgd,lr", "sgd,lr=", "sgd,lr=fast", "sgd,lr=-1", "sgd,lr=nan",
              "sgd,lr=1x", "sgd,beta1=0.9", "adam,momentum=0.9", "adam,beta1=1", "adam,nesterov=1", "sgd,nesterov=1",
              "sgd,momentum=0.9,nesterov=1,dampening=0.1", "sgd,nesterov=2"}) {
            QTest::newRow(text) << QString::fromLatin1(text);
        }
    }
    void others_areRefused() {
        QFETCH(QString, text);
        const auto settings = parseOptimizer(text.toStdString());
        QVERIFY(!settings);
        QVERIFY(settings.error().code == modulelens::base::ErrorCode::InvalidArgument);
        QVERIFY(settings.error().fix.find("adamw") != std::string::npos);
    }
};

ML_TEST_MAIN(OptimizerSettingsTest)
#include "tst_OptimizerSettings.moc"
