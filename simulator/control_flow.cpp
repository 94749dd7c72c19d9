// Immediate post-dominators: where the paths of a divergent branch come together again.
#include <algorithm>
#include <map>
#include <set>

#include "program.h"

namespace ladder {
namespace {

bool ends_path(const Instruction& in) {
    return in.text.rfind("ret", 0) == 0 || in.text.rfind("exit", 0) == 0 || in.text == "trap";
}
bool branches(const Instruction& in) { return in.target >= 0 || in.text.rfind("brx", 0) == 0; }

/// Basic blocks of a function; the last one stands for the function's end.
struct Graph {
    std::vector<int> starts;
    std::vector<std::vector<int>> successors, predecessors;
    int exit = 0;
};

Graph build_graph(const std::vector<Instruction>& code) {
    int n = static_cast<int>(code.size());
    std::set<int> heads{0, n};
    for (int i = 0; i < n; ++i) {
        if (!branches(code[i]) && !ends_path(code[i])) continue;
        heads.insert(i + 1);
        if (code[i].target >= 0) heads.insert(code[i].target);
        if (branches(code[i])) heads.insert(code[i].table.begin(), code[i].table.end());
    }
    Graph g;
    g.starts.assign(heads.begin(), heads.end());
    g.exit = static_cast<int>(g.starts.size()) - 1;
    g.successors.resize(g.exit + 1);
    g.predecessors.resize(g.exit + 1);
    std::map<int, int> block_at;
    for (int b = 0; b <= g.exit; ++b) block_at[g.starts[b]] = b;
    for (int b = 0; b < g.exit; ++b) {
        const Instruction& last = code[g.starts[b + 1] - 1];
        std::set<int> to;
        if (last.target >= 0) to.insert(block_at[last.target]);
        if (branches(last))
            for (int t : last.table) to.insert(block_at[t]);
        if (ends_path(last)) to.insert(g.exit);
        if (to.empty() || last.guard >= 0) to.insert(b + 1);
        g.successors[b].assign(to.begin(), to.end());
        for (int t : to) g.predecessors[t].push_back(b);
    }
    return g;
}

/// Post-order of the reversed graph from its exit.
std::vector<int> reverse_post_order(const Graph& g) {
    std::vector<int> order;
    std::vector<char> seen(g.exit + 1);
    std::vector<std::pair<int, size_t>> stack{{g.exit, 0}};
    seen[g.exit] = 1;
    while (!stack.empty()) {
        auto& [block, next] = stack.back();
        if (next == g.predecessors[block].size()) {
            order.push_back(block);
            stack.pop_back();
            continue;
        }
        int p = g.predecessors[block][next++];
        if (!seen[p]) {
            seen[p] = 1;
            stack.push_back({p, 0});
        }
    }
    return order;
}

/// Cooper, Harvey and Kennedy's iteration; -1 for blocks from which the exit cannot be reached.
std::vector<int> post_dominators(const Graph& g) {
    std::vector<int> order = reverse_post_order(g), number(g.exit + 1, -1), dominator(g.exit + 1, -1);
    for (size_t k = 0; k < order.size(); ++k) number[order[k]] = static_cast<int>(k);
    dominator[g.exit] = g.exit;
    auto common = [&](int a, int b) {
        while (a != b) {
            while (number[a] < number[b]) a = dominator[a];
            while (number[b] < number[a]) b = dominator[b];
        }
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = order.size() - 1; k-- > 0;) {
            int best = -1;
            for (int s : g.successors[order[k]])
                if (dominator[s] >= 0) best = best < 0 ? s : common(s, best);
            if (best >= 0 && dominator[order[k]] != best) {
                dominator[order[k]] = best;
                changed = true;
            }
        }
    }
    return dominator;
}

}  // namespace

void find_reconvergence(Function& f) {
    Graph g = build_graph(f.code);
    std::vector<int> dominator = post_dominators(g);
    for (int b = 0; b < g.exit; ++b) {
        Instruction& last = f.code[g.starts[b + 1] - 1];
        if (branches(last)) last.reconvergence = dominator[b] < 0 ? g.starts[g.exit] : g.starts[dominator[b]];
    }
}

}  // namespace ladder
