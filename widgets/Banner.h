// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QHBoxLayout;
class QPushButton;

namespace modulelens::widgets {

/// One sentence that says what, and a second that says where and what to do, on a ground that says how bad. Never modal.
/// Confined to its thread.
class Banner : public QWidget {
    Q_OBJECT

public:
    enum class Kind { Good, Neutral, Warning, Bad };

    explicit Banner(QWidget* parent = nullptr);

    void show(Kind kind, const QString& sentence, const QString& detail);
    [[nodiscard]] QString sentence() const { return m_sentence; }
    [[nodiscard]] QString detail() const { return m_detail; }
    /// Adds an action at the right end; owned by the banner.
    QPushButton* addButton(const QString& text);

    [[nodiscard]] QSize sizeHint() const override { return {400, height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    /// Pixels between icon and actions.
    [[nodiscard]] int textWidth() const;
    /// As high as both texts need at this width: what to do stands at the end and must not be cut.
    void fitHeight();

    Kind m_kind = Kind::Neutral;
    QString m_sentence;
    QString m_detail;
    QHBoxLayout* m_actions;
    int m_sentenceHeight = 0;
};

} // namespace modulelens::widgets
