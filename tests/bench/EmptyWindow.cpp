// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include <QApplication>
#include <QMainWindow>
#include <QTimer>
#include <cstdio>

/// The least that a window can cost: shows an empty one of the explorer's size and ends after its first paint.
class EmptyWindow : public QMainWindow {
protected:
    void paintEvent(QPaintEvent*) override {
        QTimer::singleShot(0, qApp, [] {
            std::puts("first paint");
            std::fflush(stdout);
            QCoreApplication::quit();
        });
    }
};

int main(int argc, char** argv) {
    const QApplication application(argc, argv);
    EmptyWindow window;
    window.resize(1600, 1000);
    window.show();
    return QApplication::exec();
}
