// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/SourcePage.h"

#include "app/explorer/PythonHighlighter.h"
#include "app/explorer/Session.h"
#include "app/explorer/SourceEditPanel.h"
#include "app/explorer/SourceView.h"
#include "app/explorer/Strip.h"
#include "backend/base/FileSystem.h"
#include "backend/operations/Verifying.h"
#include "models/Format.h"
#include "widgets/DifferenceView.h"
#include "widgets/EmptyState.h"
#include "widgets/SegmentedControl.h"
#include "widgets/Theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <nlohmann/json.hpp>

namespace modulelens::explorer {

namespace {

constexpr int kSideWidth = 400;
constexpr int kNameWidth = 200;
constexpr int kToolsHeight = 32;

const char* const kShownOnly = QT_TRANSLATE_NOOP("modulelens::explorer::SourcePage",
                                                 "As captured. Shown only: captured code runs nowhere before you allow it.");

struct Argument {
    QString name;
    QString value;
};

struct LoadedSource {
    QString className;
    QString how;
    QList<Argument> arguments;
    QString source;
};

/// One line for an encoded value; nested values are cut.
QString valueText(const nlohmann::json& value) {
    constexpr std::size_t kLongest = 120;
    if (value.is_object() && value.contains("$t")) {
        const std::string type = value["$t"].is_string() ? value["$t"].get<std::string>() : "?";
        if (type == "tensor") {
            return QStringLiteral("tensor ") + QString::fromStdString(value.value("dtype", std::string()) + " " +
                                                                      value.value("shape", nlohmann::json::array()).dump());
        }
        if (type == "gap") {
            return QStringLiteral("not captured");
        }
        if (value.contains("v")) {
            return valueText(value["v"]);
        }
    }
    if (value.is_null()) {
        return QStringLiteral("None");
    }
    if (value.is_boolean()) {
        return value.get<bool>() ? QStringLiteral("True") : QStringLiteral("False");
    }
    std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (text.size() > kLongest) {
        text = text.substr(0, kLongest) + "…";
    }
    return QString::fromStdString(text);
}

/// Members of an encoded dict, dataclass or object, one row each; anything else is one row.
void describeValue(const QString& name, const nlohmann::json& value, QList<Argument>& arguments) {
    constexpr std::size_t kMostMembers = 200;
    const nlohmann::json* members = nullptr;
    if (value.is_object() && !value.contains("$t")) {
        members = &value;
    } else if (value.is_object() && value.contains("v") && value["v"].is_object()) {
        members = &value["v"];
    }
    if (members == nullptr || members->empty() || members->size() > kMostMembers) {
        arguments.append({name, valueText(value)});
        return;
    }
    if (value.contains("cls") && value["cls"].is_string()) {
        arguments.append({name, QString::fromStdString(value["cls"].get<std::string>()).section(u':', -1)});
    }
    for (const auto& [key, member] : members->items()) {
        arguments.append({QStringLiteral("  ") + QString::fromStdString(key), valueText(member)});
    }
}

LoadedSource describe(const capture::NodeDocument& node) {
    LoadedSource loaded;
    loaded.className = QString::fromStdString(node.className);
    loaded.how = QString::fromStdString(node.initHow);
    if (node.init == nullptr || !node.init->is_object()) {
        return loaded;
    }
    if (const auto args = node.init->find("args"); args != node.init->end() && args->is_array()) {
        int position = 0;
        for (const nlohmann::json& value : *args) {
            describeValue(QString::number(position++), value, loaded.arguments);
        }
    }
    if (const auto kwargs = node.init->find("kwargs"); kwargs != node.init->end() && kwargs->is_object()) {
        for (const auto& [name, value] : kwargs->items()) {
            describeValue(QString::fromStdString(name), value, loaded.arguments);
        }
    }
    return loaded;
}

} // namespace

SourcePage::SourcePage(Session& session, const models::VersionInfo& version, QWidget* parent)
    : QWidget(parent),
      m_session(session),
      m_version(version),
      m_task(session.pool()),
      m_editedTask(session.pool()),
      m_panel(new SourceEditPanel(session, version, this)),
      m_choice(new widgets::SegmentedControl(tr("Text"), this)),
      m_editButton(new QPushButton(widgets::themedIcon(widgets::Icon::Out), tr("Edit source"), this)),
      m_difference(new widgets::DifferenceView(this)),
      m_edited(new SourceView(this)),
      m_editedHighlighter(new PythonHighlighter(m_edited->document())),
      m_note(new widgets::NoteRow(this)),
      m_arguments(new widgets::KeyValueList(this)),
      m_pages(new QStackedWidget(this)),
      m_source(new SourceView(this)),
      m_highlighter(new PythonHighlighter(m_source->document())),
      m_empty(new widgets::EmptyState(this)) {
    setProperty("surface", true);
    setAttribute(Qt::WA_StyledBackground);
    m_arguments->setNameWidth(kNameWidth);
    m_source->setAccessibleName(tr("Class source"));
    m_edited->setAccessibleName(tr("Edited source"));
    m_difference->setTitles(tr("Captured"), tr("Edited"));
    m_choice->setSegments({{tr("Captured"), {}}, {tr("Difference"), {}}, {tr("Edited"), {}}});
    m_choice->hide();
    m_editButton->setToolTip(tr("Open it in your editor; every save is run on the captured inputs (Ctrl+E)"));
    m_empty->show(widgets::Icon::Code, tr("Reading the source"), {});
    m_note->setText(tr(kShownOnly));
    buildLayout();
    connect(m_editButton, &QPushButton::clicked, m_panel, &SourceEditPanel::begin);
    connect(m_choice, &widgets::SegmentedControl::currentChanged, this, &SourcePage::showPane);
    connect(m_panel, &SourceEditPanel::changed, this, &SourcePage::showEdit);
}

void SourcePage::buildLayout() {
    for (QWidget* page : {static_cast<QWidget*>(m_empty), static_cast<QWidget*>(m_source), static_cast<QWidget*>(m_difference),
                          static_cast<QWidget*>(m_edited)}) {
        m_pages->addWidget(page);
    }
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFixedWidth(kSideWidth);
    scroll->setWidget(m_arguments);
    auto* line = new QWidget(this);
    line->setFixedWidth(1);
    line->setAutoFillBackground(true);
    line->setBackgroundRole(QPalette::Mid);
    auto* body = new QHBoxLayout;
    body->setSpacing(0);
    body->addWidget(scroll);
    body->addWidget(line);
    body->addWidget(m_pages, 1);
    auto* tools = new Strip(this);
    auto* row = new QHBoxLayout(tools);
    row->setContentsMargins(0, 0, 16, 0);
    row->setSpacing(8);
    row->addWidget(m_note, 1);
    row->addWidget(m_choice);
    row->addWidget(m_editButton);
    tools->setFixedHeight(kToolsHeight);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(tools);
    layout->addWidget(m_panel);
    layout->addLayout(body, 1);
}

SourcePage::Shown SourcePage::shown() const {
    return m_pages->currentWidget() == m_difference ? Shown::Difference
           : m_pages->currentWidget() == m_edited   ? Shown::Edited
                                                    : Shown::Captured;
}

void SourcePage::showPane() {
    const auto choice = m_panel->edit().isOpen() ? static_cast<Shown>(m_choice->current()) : Shown::Captured;
    if (choice == Shown::Edited) {
        readEdited();
    }
    m_pages->setCurrentWidget(choice == Shown::Edited       ? static_cast<QWidget*>(m_edited)
                              : choice == Shown::Difference ? m_difference
                              : m_hasSource                 ? m_source
                                                            : static_cast<QWidget*>(m_empty));
}

void SourcePage::showEdit() {
    const models::SourceEdit& edit = m_panel->edit();
    m_note->setText(edit.isOpen() ? tr("Your class with the captured state, on the captured inputs.") : tr(kShownOnly));
    m_choice->setVisible(edit.isOpen());
    m_editButton->setVisible(!edit.isOpen());
    const bool isAnswered = edit.state() == models::SourceEdit::State::Watching && (edit.error() || edit.report() != nullptr);
    if (isAnswered && m_answers != edit.runCount()) {
        m_answers = edit.runCount();
        if (edit.report() != nullptr) {
            QList<widgets::DifferenceView::Part> parts;
            for (const protocol::SourceDifference& difference : edit.report()->validation.differences) {
                parts.append({QString::fromStdString(difference.className), QString::fromStdString(difference.difference)});
            }
            m_difference->setParts(parts);
        }
        m_choice->setCurrent(static_cast<int>(edit.report() != nullptr ? Shown::Difference : Shown::Edited));
    }
    showPane();
    showList();
}

void SourcePage::readEdited() {
    constexpr std::uint64_t kLargest = 4 << 20;
    m_editedTask.run(
        [file = m_panel->edit().file().toStdString()](std::stop_token) { return base::realFileSystem().read(file, kLargest); },
        [this](const base::Result<std::string>& outcome) {
            const QString text = QString::fromStdString(outcome ? *outcome : operations::errorSentence(outcome.error()));
            if (text != m_edited->toPlainText()) {
                m_edited->setPlainText(text);
            }
            m_edited->markLine(m_panel->edit().errorLine());
        });
}

void SourcePage::showList() {
    m_arguments->setGroups(m_panel->facts() + m_facts);
}

void SourcePage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (!m_asked) {
        m_asked = true;
        read();
    }
}

void SourcePage::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) {
        m_highlighter->rehighlight();
        m_editedHighlighter->rehighlight();
    }
    QWidget::changeEvent(event);
}

void SourcePage::read() {
    if (!m_session.registry()) {
        return;
    }
    m_task.run(
        [registry = m_session.registry(), id = m_version.id.toStdString()](std::stop_token) -> base::Result<LoadedSource> {
            const base::Result<capture::VersionDocument> document = registry->versionDocument(id);
            if (!document) {
                return document.error();
            }
            const base::Result<capture::NodeDocument> node = registry->node(document->stateDigest);
            if (!node) {
                return node.error();
            }
            LoadedSource loaded = describe(*node);
            if (!node->source.empty()) {
                const base::Result<std::string> text = registry->source(node->source);
                if (!text) {
                    return text.error();
                }
                loaded.source = QString::fromStdString(*text);
            }
            return loaded;
        },
        [this](const base::Result<LoadedSource>& outcome) {
            if (!outcome) {
                m_empty->show(widgets::Icon::Failed, tr("The source could not be read"),
                              QString::fromStdString(operations::errorSentence(outcome.error())));
                return;
            }
            widgets::KeyValueList::Group facts{
                tr("Class"), {{tr("Name"), models::bareClassName(outcome->className.toStdString()), false, false}}};
            if (const qsizetype colon = outcome->className.indexOf(u':'); colon > 0) {
                facts.rows.append({tr("Defined in"), outcome->className.left(colon), false, false});
            }
            facts.rows.append({tr("Arguments"), outcome->how, false, false});
            widgets::KeyValueList::Group arguments{tr("Constructor arguments"), {}};
            for (const Argument& argument : outcome->arguments) {
                arguments.rows.append({argument.name, argument.value, false, true});
            }
            if (arguments.rows.isEmpty()) {
                arguments.rows.append({tr("none"), QString(), false, false});
            }
            m_facts = {facts, arguments};
            showList();
            if (outcome->source.isEmpty()) {
                m_empty->show(widgets::Icon::Code, tr("No source"),
                              tr("The class has no source of its own in the capture; it is a class of a library."));
            } else {
                m_source->setPlainText(outcome->source);
                m_hasSource = true;
            }
            showPane();
        });
}

} // namespace modulelens::explorer
