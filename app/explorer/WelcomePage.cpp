// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/WelcomePage.h"

#include "widgets/Fonts.h"
#include "widgets/Icons.h"
#include "widgets/Theme.h"
#include "widgets/WelcomeParts.h"

#include <QPainter>
#include <QVBoxLayout>

namespace modulelens::explorer {

namespace {

using widgets::ActionRow;
using widgets::Icon;
using widgets::Theme;

constexpr int kColumnWidth = 720;

/// One or two lines of text with an icon, in theme colours at any time.
class Words : public QWidget {
public:
    Words(Icon icon, int iconSize, const QString& title, int titlePixels, const QString& sentence, QWidget* parent)
        : QWidget(parent),
          m_icon(icon),
          m_iconSize(iconSize),
          m_title(title),
          m_titlePixels(titlePixels),
          m_sentence(sentence) {
        setFixedHeight(title.isEmpty() || sentence.isEmpty() ? 24 : 48);
        setAccessibleName(title.isEmpty() ? sentence : title);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& t = Theme::current();
        QPainter painter(this);
        double x = 0;
        if (m_iconSize > 0) {
            widgets::paintIcon(painter, QRectF(0, (height() - m_iconSize) / 2.0, m_iconSize, m_iconSize), m_icon,
                               m_title.isEmpty() ? t.text2 : t.accent);
            x = m_iconSize + (m_title.isEmpty() ? 8 : 16);
        }
        if (m_title.isEmpty()) {
            widgets::drawText(painter, QRectF(x, 0, width() - x, height()), m_sentence, widgets::uiFont(12), t.text2);
            return;
        }
        const double titleHeight = m_sentence.isEmpty() ? height() : 28;
        widgets::drawText(painter, QRectF(x, 0, width() - x, titleHeight), m_title,
                          widgets::uiFont(m_titlePixels, QFont::DemiBold), t.text);
        widgets::drawText(painter, QRectF(x, 26, width() - x, 20), m_sentence, widgets::uiFont(13), t.text2);
    }

private:
    Icon m_icon;
    int m_iconSize;
    QString m_title;
    int m_titlePixels;
    QString m_sentence;
};

} // namespace

WelcomePage::WelcomePage(QWidget* parent) : QWidget(parent) {
    setProperty("strip", true);
    setAttribute(Qt::WA_StyledBackground);
    auto* column = new QWidget(this);
    column->setFixedWidth(kColumnWidth);
    auto* layout = new QVBoxLayout(column);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(new Words(Icon::Layers, 40, tr("Start with one module"), 20,
                                tr("Open a captured module to see where its time goes, rebuild it, and check it."), column));
    layout->addSpacing(24);
    m_open = new ActionRow(Icon::Folder, tr("Open a bundle"), tr("A folder or .mlens file captured from a training run"),
                           QStringLiteral("Ctrl+O"), column);
    auto* connectRow =
        new ActionRow(Icon::Cloud, tr("Connect to W&B"), tr("Browse your team’s registry; not yet in this version"),
                      QStringLiteral("Ctrl+Shift+O"), column);
    m_sample = new ActionRow(Icon::Flask, tr("Try the sample"), tr("A small captured model that runs on the CPU"),
                             QStringLiteral("Ctrl+Alt+S"), column);
    for (ActionRow* row : {m_open, connectRow, m_sample}) {
        layout->addWidget(row);
    }
    layout->addSpacing(24);
    layout->addWidget(new Words(Icon::Info, 0, tr("Or capture one from your own run"), 13, {}, column));
    layout->addWidget(new widgets::CodeBlock(
        {QStringLiteral("$ pip install ./backend/python"), QString(), QStringLiteral("from modulelens import ModuleTracer"),
         QStringLiteral("with ModuleTracer(model, store=\"captures\", model_name=\"my_model\"):"),
         QStringLiteral("    model(batch)")},
        column));
    layout->addSpacing(8);
    layout->addWidget(new widgets::DropArea(tr("Drop a bundle anywhere in this window"), column));
    layout->addSpacing(16);
    layout->addWidget(new Words(Icon::Info, 16, {}, 12,
                                tr("Nothing is uploaded. Bundles hold no pickles; captured code runs only after you allow it."),
                                column));

    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(16, 16, 16, 16);
    outer->addStretch(1);
    outer->addWidget(column, 0, Qt::AlignHCenter);
    outer->addStretch(2);
    connect(m_open, &ActionRow::clicked, this, &WelcomePage::openRequested);
    connect(connectRow, &ActionRow::clicked, this, &WelcomePage::connectRequested);
    connect(m_sample, &ActionRow::clicked, this, &WelcomePage::sampleRequested);
}

void WelcomePage::focusFirst() {
    m_open->setFocus();
}

void WelcomePage::setSampleSentence(const QString& sentence) {
    m_sample->setSentence(sentence);
}

} // namespace modulelens::explorer
