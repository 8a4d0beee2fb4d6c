// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

namespace modulelens::widgets {
class ActionRow;
}

namespace modulelens::explorer {

/// What a first start shows: three ways to begin, code that captures a module, where to drop a bundle. Confined to its
/// thread.
class WelcomePage : public QWidget {
    Q_OBJECT

public:
    explicit WelcomePage(QWidget* parent = nullptr);

    /// Puts the keyboard on the first way to begin.
    void focusFirst();
    void setSampleSentence(const QString& sentence);

signals:
    void openRequested();
    void connectRequested();
    void sampleRequested();

private:
    widgets::ActionRow* m_open;
    widgets::ActionRow* m_sample;
};

} // namespace modulelens::explorer
