// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QStringList>

class QLabel;
class QLineEdit;
class QStringListModel;
class QTimer;

namespace modulelens::widgets {

/// The query box of the registry: finished terms are chips, the rest is typed; asks while one types. An error stands under
/// the box with a mark below the character that it is about. Confined to its thread.
class QueryField : public QFrame {
    Q_OBJECT

public:
    explicit QueryField(QWidget* parent = nullptr);

    [[nodiscard]] QString query() const;
    /// Shows `query` without asking.
    void setQuery(const QString& query);
    /// `position` counts characters of query(), -1 when unknown; an empty text removes the error.
    void setError(const QString& text, int position);
    [[nodiscard]] QString errorText() const { return m_error; }
    void setCompletions(const QStringList& words);
    [[nodiscard]] QLineEdit* edit() const { return m_edit; }

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;

signals:
    void queryChanged(const QString& query);
    /// Down was pressed below the text: whoever holds the answer takes the focus.
    void resultsRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Placement {
        QList<QRect> chips;
        QRect edit;
        int boxHeight = 0;
        int height = 0;
    };
    [[nodiscard]] Placement place(int width) const;
    void arrange();
    void takeFinishedTerms();
    void announce();

    QStringList m_terms;
    QLineEdit* m_edit;
    QTimer* m_pause;
    QStringListModel* m_completions;
    QString m_error;
    int m_errorPosition = -1;
};

} // namespace modulelens::widgets
