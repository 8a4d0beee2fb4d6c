// SPDX-FileCopyrightText: 2026 The ModuleLens authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "models/FlameLayout.h"
#include "models/ProfileView.h"
#include "widgets/Theme.h"

#include <QFont>
#include <QHash>
#include <QStaticText>

#include <array>
#include <vector>

class QPainter;

namespace modulelens::widgets {

/// Paints the boxes of a FlameLayout: fills, feet, labels, search states, the selection. Keeps prepared labels between
/// paints. Confined to its thread.
class FlameGraphPainter {
public:
    /// Height of a row: 20, more for a taller face.
    [[nodiscard]] static int rowHeight();

    struct Scene {
        const models::ProfileView* view = nullptr;
        const models::FlameLayout* layout = nullptr;
        QRect clip;                ///< What must be painted, in the painter's coordinates.
        double originX = 0;        ///< Where the layout's 0 lies.
        double originY = 0;        ///< Top of row 0.
        double stretch = 1;        ///< Horizontal scale, other than 1 while a zoom is animated.
        bool hasFocus = false;
    };

    FlameGraphPainter();

    void paint(QPainter& painter, const Scene& scene);

    /// What a box looks like, for tests and the legend.
    struct BoxColours {
        QColor fill;
        QColor text;
        QColor foot;               ///< Invalid: none.
    };
    [[nodiscard]] BoxColours coloursOf(const models::ProfileView& view, const models::FlameSpan& span);
    /// The text at the left of a box that is `room` wide, shortened by the rules; empty when too little would be left.
    [[nodiscard]] QString labelOf(const models::ProfileView& view, const models::FlameSpan& span, double room);
    /// The class whose hue a scope takes: its own, or for an operator that of the module that called it.
    [[nodiscard]] static std::int32_t hueClassId(const profile::Profile& profile, profile::ScopeId scope);
    /// Forgets what depends on the profile or the theme.
    void reset();

private:
    struct Style {
        QColor fill;
        QColor text;
        QColor foot;
    };
    struct Label {
        QStaticText text;
        double width = 0;
    };
    static constexpr int kNoHue = 0;

    void prepare(const models::ProfileView& view);
    [[nodiscard]] int hueIndex(const profile::Profile& profile, profile::ScopeId scope);
    [[nodiscard]] const Style& styleOf(const models::ProfileView& view, const models::FlameSpan& span);
    /// How much of a box is the heaviest self: 1 for all of it, 0 for none.
    [[nodiscard]] static double hotShare(const models::ProfileView& view, const models::FlameSpan& span);
    void paintBox(QPainter& painter, const Scene& scene, const models::FlameSpan& span, const QRect& box);
    /// The end of a box under which no child lies, where that is the heaviest self.
    void paintHotPart(QPainter& painter, const Scene& scene, const models::FlameSpan& span, const QRect& part);
    void paintMerged(QPainter& painter, const models::FlameSpan& span, const QRect& box);
    void paintLabels(QPainter& painter, const Scene& scene, const models::FlameSpan& span, const QRect& box,
                     const QColor& colour);
    void paintSelection(QPainter& painter, const Scene& scene);
    [[nodiscard]] QRect boxOf(const Scene& scene, int row, const models::FlameSpan& span) const;
    [[nodiscard]] const Label& label(const QString& text, int weight);

    Theme::Mode m_mode = Theme::Mode::Light;
    const profile::Profile* m_profile = nullptr;
    std::vector<std::int8_t> m_hueOfText;                  ///< By text id: index into m_styles, -1 not known yet.
    std::array<std::array<Style, 3>, 8> m_styles;          ///< By hue (0 is grey) and step.
    Style m_hotStyle, m_holdsStyle, m_otherStyle;
    std::array<QFont, 3> m_fonts;                          ///< Regular, medium, semibold.
    std::array<QHash<QString, Label>, 3> m_labels;
    QHash<std::pair<QString, int>, QString> m_elided;      ///< By text and room in pixels.
    double m_whole = 1;                                    ///< Total of the profile's root, for shares.
    int m_rowHeight = 20;
};

} // namespace modulelens::widgets
