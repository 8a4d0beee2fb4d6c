// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: MIT
#include "models/SourceDifference.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>

#include <algorithm>
#include <utility>

namespace modulelens::models {

namespace {

constexpr qsizetype kMostPaired = 80;         ///< Lines of a change on each side that are paired by likeness.
constexpr double kLeastLikeness = 0.25;

/// How many characters two lines have in common at their ends.
std::pair<qsizetype, qsizetype> commonEnds(const QString& before, const QString& after) {
    const qsizetype shorter = std::min(before.size(), after.size());
    qsizetype head = 0;
    while (head < shorter && before[head] == after[head]) {
        ++head;
    }
    qsizetype tail = 0;
    while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
        ++tail;
    }
    return {head, tail};
}

double likeness(const QString& before, const QString& after) {
    const QString left = before.trimmed();
    const QString right = after.trimmed();
    if (left.isEmpty() || right.isEmpty()) {
        return 0;
    }
    const auto [head, tail] = commonEnds(left, right);
    return 2.0 * static_cast<double>(head + tail) / static_cast<double>(left.size() + right.size());
}

/// Which added line each removed line faces, in order, so that the pairs are as alike as can be; -1: none.
QList<qsizetype> facing(const QStringList& removed, const QStringList& added) {
    QList<qsizetype> pairs(removed.size(), -1);
    if (removed.size() > kMostPaired || added.size() > kMostPaired) {
        return pairs;
    }
    const auto width = static_cast<std::size_t>(added.size() + 1);
    std::vector<double> best((static_cast<std::size_t>(removed.size()) + 1) * width);
    const auto at = [&best, width](qsizetype i, qsizetype j) -> double& {
        return best[static_cast<std::size_t>(i) * width + static_cast<std::size_t>(j)];
    };
    const auto gain = [&](qsizetype i, qsizetype j) {
        const double like = likeness(removed[i], added[j]);
        return like < kLeastLikeness ? 0.0 : like;
    };
    for (qsizetype i = removed.size() - 1; i >= 0; --i) {
        for (qsizetype j = added.size() - 1; j >= 0; --j) {
            at(i, j) = std::max({at(i + 1, j), at(i, j + 1), gain(i, j) + at(i + 1, j + 1)});
        }
    }
    for (qsizetype i = 0, j = 0; i < removed.size() && j < added.size();) {
        if (const double own = gain(i, j); own > 0 && at(i, j) == own + at(i + 1, j + 1)) {
            pairs[i++] = j++;
        } else if (at(i, j) == at(i + 1, j)) {
            ++i;
        } else {
            ++j;
        }
    }
    return pairs;
}

class Reader {
public:
    SourceDifference read(const QString& unified) {
        static const QRegularExpression head(QStringLiteral("^@@ -(\\d+)(?:,\\d+)? \\+(\\d+)(?:,\\d+)? @@"));
        for (const QString& line : unified.split(u'\n')) {
            if (const QRegularExpressionMatch match = head.match(line); match.hasMatch()) {
                flush();
                beginHunk(match.captured(1).toInt(), match.captured(2).toInt());
            } else if (!m_inHunk) {
                continue;
            } else if (line.startsWith(u'-')) {
                // After an added line another change begins.
                if (!m_added.isEmpty()) {
                    flush();
                }
                m_removed.append(line.mid(1));
            } else if (line.startsWith(u'+')) {
                m_added.append(line.mid(1));
            } else if (line.startsWith(u' ')) {
                flush();
                const QString text = line.mid(1);
                m_result.rows.push_back({DifferenceRow::Kind::Equal, {}, {m_before++, text, 0, 0}, {m_after++, text, 0, 0}});
            }
        }
        flush();
        return std::move(m_result);
    }

private:
    void beginHunk(int before, int after) {
        const int equal = before - (m_inHunk ? m_before : 1);
        if (equal > 0) {
            DifferenceRow fold;
            fold.kind = DifferenceRow::Kind::Fold;
            fold.title =
                QCoreApplication::translate("SourceDifference", equal == 1 ? "%1 equal line" : "%1 equal lines").arg(equal);
            m_result.rows.push_back(fold);
        }
        m_inHunk = true;
        m_before = before;
        m_after = after;
    }

    void add(const QString* before, const QString* after) {
        DifferenceRow row;
        row.kind = DifferenceRow::Kind::Changed;
        if (before != nullptr) {
            row.before = {m_before++, *before, 0, 0};
        }
        if (after != nullptr) {
            row.after = {m_after++, *after, 0, 0};
        }
        if (before != nullptr && after != nullptr) {
            const auto [head, tail] = commonEnds(*before, *after);
            row.before.changedFrom = row.after.changedFrom = static_cast<int>(head);
            row.before.changedTo = static_cast<int>(before->size() - tail);
            row.after.changedTo = static_cast<int>(after->size() - tail);
        }
        m_result.rows.push_back(std::move(row));
    }

    void flush() {
        const QList<qsizetype> pairs = facing(m_removed, m_added);
        qsizetype next = 0;
        for (qsizetype i = 0; i < m_removed.size(); ++i) {
            for (; pairs[i] >= 0 && next < pairs[i]; ++next) {
                add(nullptr, &m_added[next]);
            }
            add(&m_removed[i], pairs[i] >= 0 ? &m_added[next++] : nullptr);
        }
        for (; next < m_added.size(); ++next) {
            add(nullptr, &m_added[next]);
        }
        m_result.removed += static_cast<int>(m_removed.size());
        m_result.added += static_cast<int>(m_added.size());
        m_removed.clear();
        m_added.clear();
    }

    SourceDifference m_result;
    QStringList m_removed;
    QStringList m_added;
    int m_before = 1;
    int m_after = 1;
    bool m_inHunk = false;
};

} // namespace

SourceDifference sourceDifference(const QString& unified) {
    return Reader().read(unified);
}

} // namespace modulelens::models
