// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Keys, wheel and zoom steps of the flame graph.
#include "widgets/FlameGraph.h"

#include <QKeyEvent>
#include <QScrollBar>
#include <QWheelEvent>

#include <algorithm>

namespace modulelens::widgets {

using models::FlameSpan;
using models::ProfileView;
using profile::ScopeId;

void FlameGraph::wheelEvent(QWheelEvent* event) {
    if (!event->modifiers().testFlag(Qt::ControlModifier)) {
        QAbstractScrollArea::wheelEvent(event);
        return;
    }
    if (event->angleDelta().y() < 0) {
        m_view->zoomUp();
    } else if (const FlameSpan* span = spanAt(event->position().toPoint())) {
        zoomInOneLevel(span->scope);
    }
    event->accept();
}

void FlameGraph::keyPressEvent(QKeyEvent* event) {
    hideTip();
    const bool hasProfile = m_view->profile() != nullptr;
    switch (event->key()) {
        case Qt::Key_Left:
        case Qt::Key_Right:
            if (event->modifiers().testFlag(Qt::AltModifier)) {
                event->key() == Qt::Key_Left ? m_view->goBack() : m_view->goForward();
                return;
            }
            [[fallthrough]];
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_Home:
            if (hasProfile) {
                moveSelection(event->key());
            }
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (hasProfile) {
                zoomToSelection();
            }
            return;
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            if (hasProfile) {
                zoomInOneLevel(m_view->selection());
            }
            return;
        case Qt::Key_Escape:
        case Qt::Key_Backspace:
        case Qt::Key_Minus:
            if (m_view->zoomRoot() != 0) {
                m_view->zoomUp();
                return;
            }
            break; // Nothing to leave here: the page may want the key.
        default:
            break;
    }
    event->ignore();
}

void FlameGraph::moveSelection(int key) {
    const ScopeId selected = m_view->selection();
    const profile::Profile& shown = *m_view->profile();
    if (selected == ProfileView::kNoScope || !shown.isInside(selected, m_view->zoomRoot()) || key == Qt::Key_Home) {
        m_view->select(m_view->zoomRoot());
        return;
    }
    if (key == Qt::Key_Up) {
        if (selected == m_view->zoomRoot()) {
            m_view->zoomUp();
        }
        if (shown.parent(selected) >= 0) {
            m_view->select(shown.parent(selected));
        }
    } else if (key == Qt::Key_Down) {
        const std::vector<ScopeId>& children = m_view->childOrder().children(selected);
        if (!children.empty()) {
            m_view->select(children.front());
        }
    } else {
        selectSibling(key == Qt::Key_Left ? -1 : 1);
    }
}

void FlameGraph::selectSibling(int by) {
    const ScopeId selected = m_view->selection();
    if (selected == m_view->zoomRoot()) {
        return;
    }
    const std::vector<ScopeId>& siblings = m_view->childOrder().children(m_view->profile()->parent(selected));
    const int row = m_view->childOrder().row(selected) + by;
    if (row >= 0 && row < static_cast<int>(siblings.size())) {
        m_view->select(siblings[static_cast<std::size_t>(row)]);
    }
}

void FlameGraph::zoomToSpan(const FlameSpan& span) {
    // The box of the zoomed scope itself leads back out.
    if (span.scope == m_view->zoomRoot() && span.hiddenCount == 0) {
        m_view->zoomUp();
    } else {
        m_view->zoomTo(span.scope);
    }
}

void FlameGraph::zoomToSelection() {
    const ScopeId selected = m_view->selection();
    if (selected == ProfileView::kNoScope) {
        return;
    }
    const auto places = flameLayout().find(*m_view->profile(), m_view->childOrder(), selected);
    const bool isMerged = !places.empty() && std::all_of(places.begin(), places.end(), [&](const auto& place) {
        return flameLayout().row(place.row)[place.index].hiddenCount > 0;
    });
    m_view->zoomTo(isMerged ? flameLayout().row(places.front().row)[places.front().index].scope : selected);
}

void FlameGraph::zoomInOneLevel(ScopeId towards) {
    const profile::Profile& shown = *m_view->profile();
    const ScopeId root = m_view->zoomRoot();
    ScopeId child = towards;
    if (towards == ProfileView::kNoScope || !shown.isInside(towards, root) || towards == root) {
        const std::vector<ScopeId>& children = m_view->childOrder().children(root);
        child = children.empty() ? root : children.front();
    } else {
        while (shown.parent(child) != root) {
            child = shown.parent(child);
        }
    }
    m_view->zoomTo(child);
}

void FlameGraph::ensureSelectionVisible() {
    if (m_view->profile() == nullptr || flameLayout().rowCount() == 0) {
        return;
    }
    const auto places = flameLayout().find(*m_view->profile(), m_view->childOrder(), m_view->selection());
    if (places.empty()) {
        return;
    }
    const int rowHeight = FlameGraphPainter::rowHeight();
    const int top = places.front().row * rowHeight;
    const int value = verticalScrollBar()->value();
    if (top < value) {
        verticalScrollBar()->setValue(top);
    } else if (top + rowHeight + 2 * kTop > value + viewport()->height()) {
        verticalScrollBar()->setValue(top + rowHeight + 2 * kTop - viewport()->height());
    }
}

} // namespace modulelens::widgets
