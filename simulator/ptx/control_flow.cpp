#include "ptx/control_flow.hpp"

#include <set>

namespace ladder {
namespace {
using Edges = std::vector<std::vector<int>>;

bool branches(const Instruction& in) {
    return in.target >= 0 || in.text.starts_with("brx");
}
bool ends_path(const Instruction& in) {
    return in.text.starts_with("ret") || in.text.starts_with("exit") || in.text == "trap";
}

/// Where control may go from each instruction; the last number stands for the function's end.
Edges successors_of(const std::vector<Instruction>& code) {
    int end = code.size();
    Edges edges(end + 1);
    for (int i = 0; i < end; ++i) {
        const Instruction& in = code[i];
        std::set<int> to;
        if (branches(in)) to.insert(in.table.begin(), in.table.end());
        if (in.target >= 0) to.insert(in.target);
        if (ends_path(in)) to.insert(end);
        if (to.empty() || in.guard >= 0) to.insert(i + 1);
        edges[i].assign(to.begin(), to.end());
    }
    return edges;
}

/// Post-order of the reversed graph from its end.
std::vector<int> reverse_post_order(const Edges& successors) {
    int end = successors.size() - 1;
    Edges predecessors(end + 1);
    for (int i = 0; i <= end; ++i)
        for (int to : successors[i]) predecessors[to].push_back(i);
    std::vector<int> order;
    std::vector<bool> seen(end + 1);
    std::vector<std::pair<int, size_t>> stack{{end, 0}};
    seen[end] = true;
    while (!stack.empty()) {
        auto& [at, next] = stack.back();
        if (next == predecessors[at].size()) {
            order.push_back(at);
            stack.pop_back();
        } else if (int p = predecessors[at][next++]; !seen[p]) {
            seen[p] = true;
            stack.push_back({p, 0});
        }
    }
    return order;
}

/// Cooper, Harvey and Kennedy's iteration; -1 for instructions from which the end cannot be reached.
std::vector<int> post_dominators(const Edges& successors) {
    std::vector<int> order = reverse_post_order(successors);
    std::vector<int> number(successors.size(), -1), dominator(successors.size(), -1);
    for (size_t k = 0; k < order.size(); ++k) number[order[k]] = k;
    dominator.back() = successors.size() - 1;
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
            for (int s : successors[order[k]])
                if (dominator[s] >= 0) best = best < 0 ? s : common(s, best);
            if (best < 0 || dominator[order[k]] == best) continue;
            dominator[order[k]] = best;
            changed = true;
        }
    }
    return dominator;
}
}  // namespace

void find_reconvergence(Function& f) {
    std::vector<int> dominator = post_dominators(successors_of(f.code));
    for (size_t i = 0; i < f.code.size(); ++i)
        if (branches(f.code[i])) f.code[i].reconvergence = dominator[i] < 0 ? f.code.size() : dominator[i];
}
}  // namespace ladder
