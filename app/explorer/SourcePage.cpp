// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/explorer/SourcePage.h"

#include "app/explorer/PythonHighlighter.h"
#include "app/explorer/Session.h"
#include "app/explorer/SourceView.h"
#include "models/Format.h"
#include "widgets/EmptyState.h"
#include "widgets/KeyValueList.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <nlohmann/json.hpp>

namespace modulelens::explorer {

namespace {

constexpr int kSideWidth = 400;
constexpr int kNameWidth = 200;

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
    m_pages->addWidget(m_empty);
    m_pages->addWidget(m_source);
    m_empty->show(widgets::Icon::Code, tr("Reading the source"), {});
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
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_note);
    layout->addLayout(body, 1);
    m_note->setText(tr("As captured. Shown only: captured code runs nowhere before you allow it."));
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
            m_arguments->setGroups({facts, arguments});
            if (outcome->source.isEmpty()) {
                m_empty->show(widgets::Icon::Code, tr("No source"),
                              tr("The class has no source of its own in the capture; it is a class of a library."));
                m_pages->setCurrentWidget(m_empty);
            } else {
                m_source->setPlainText(outcome->source);
                m_pages->setCurrentWidget(m_source);
            }
        });
}

} // namespace modulelens::explorer
