// timeline.hpp: a picture of a pipeline: which engine worked on which chunk when. Plain text, tested on the host.
#pragma once
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

constexpr int STAGES = 3;  // in, kernel, out
constexpr const char* STAGE_NAMES[STAGES] = {"copy in", "kernel", "copy out"};

/// A chunk's way through the stages, in the order of issue: its stream, when the stream came to it, and when each stage
/// was over (ms).
struct ChunkTimes {
    int stream;
    double ready;
    std::array<double, STAGES> done;
};

struct Panel {
    std::string title;
    std::vector<ChunkTimes> chunks;
};

/// When a stage of a chunk was at work.
struct Span {
    double begin, end;
};

/// An event says when a stage was over, not when it began: that is when both its stream and its engine were free, for
/// an engine takes the chunks in the order of issue.
inline std::vector<std::array<Span, STAGES>> spans_of(const std::vector<ChunkTimes>& chunks) {
    std::vector<std::array<Span, STAGES>> spans;
    std::array<double, STAGES> engine_free{};
    for (const ChunkTimes& c : chunks) {
        std::array<Span, STAGES> of_chunk;
        double stream_free = c.ready;
        for (int stage = 0; stage < STAGES; ++stage) {
            const double begin = std::max(stream_free, engine_free[stage]);
            of_chunk[stage] = {std::min(begin, c.done[stage]), c.done[stage]};
            stream_free = engine_free[stage] = c.done[stage];
        }
        spans.push_back(of_chunk);
    }
    return spans;
}

inline double end_of(const Panel& panel) {
    double end = 0;
    for (const ChunkTimes& c : panel.chunks) end = std::max(end, c.done[STAGES - 1]);
    return end;
}

/// The panels below each other, on one scale of time, that of the first: longer ones are cut off. A lane for each
/// engine, a colour for each stream, and the number of each chunk.
inline std::string timeline_svg(const std::vector<Panel>& panels) {
    constexpr const char* COLOURS[] = {"#4878a8", "#e08030", "#58a058", "#b05878"};
    constexpr double LEFT = 74, WIDTH = 860, LANE = 24, TITLE = 22, GAP = 14,
                     PANEL = TITLE + STAGES * LANE + GAP;
    const double shown = panels.empty() ? 0 : end_of(panels[0]);
    const double scale = shown > 0 ? WIDTH / shown : 0;

    std::string svg;
    const auto add = [&svg](const char* format, auto... values) {
        char line[300];
        std::snprintf(line, sizeof line, format, values...);
        svg += line;
    };
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n",
        LEFT + WIDTH + 12, static_cast<double>(panels.size()) * PANEL + 4);
    svg += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    double top = 0;
    for (const Panel& p : panels) {
        const double end = end_of(p);
        add("<text x=\"%.0f\" y=\"%.1f\" font-weight=\"bold\">%s: %.1f ms%s</text>\n", LEFT, top + 16,
            p.title.c_str(), end, end > shown ? ", the beginning" : "");
        for (int stage = 0; stage < STAGES; ++stage)
            add("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
                top + TITLE + stage * LANE + 16, STAGE_NAMES[stage]);
        const auto spans = spans_of(p.chunks);
        for (size_t i = 0; i < spans.size(); ++i)
            for (int stage = 0; stage < STAGES; ++stage) {
                const Span s = {spans[i][stage].begin, std::min(spans[i][stage].end, shown)};
                if (s.begin >= s.end) continue;
                const double x = LEFT + s.begin * scale, width = (s.end - s.begin) * scale;
                const double y = top + TITLE + stage * LANE + 2;
                add("<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\" stroke=\"white\" "
                    "stroke-width=\"0.5\"/>\n",
                    x, y, width, LANE - 4, COLOURS[p.chunks[i].stream % 4]);
                if (width > 14)
                    add("<text x=\"%.2f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"white\" "
                        "font-size=\"11\">%zu</text>\n",
                        x + width / 2, y + 14, i + 1);
            }
        top += PANEL;
    }
    return svg + "</svg>\n";
}
