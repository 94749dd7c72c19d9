#include "machine/special_registers.hpp"

#include <map>

#include "machine/machine.hpp"

namespace ladder {
namespace {
const Launch& launch(const Warp& w) {
    return *w.block->launch;
}

/// Those without axes; the last parameter has no meaning.
const std::map<std::string_view, SpecialValue> SCALARS = {
    {"%laneid", [](const Warp&, int l, int64_t) -> uint64_t { return l; }},
    {"%warpid", [](const Warp& w, int, int64_t) -> uint64_t { return w.id; }},
    {"%nwarpid", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).warps_per_block; }},
    {"%smid", [](const Warp& w, int, int64_t) -> uint64_t { return w.block->index % MULTIPROCESSORS; }},
    {"%nsmid", [](const Warp&, int, int64_t) -> uint64_t { return MULTIPROCESSORS; }},
    {"%gridid", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).start_time; }},
    {"%lanemask_eq", [](const Warp&, int l, int64_t) -> uint64_t { return 1u << l; }},
    {"%lanemask_lt", [](const Warp&, int l, int64_t) -> uint64_t { return (1u << l) - 1; }},
    {"%lanemask_le", [](const Warp&, int l, int64_t) -> uint64_t { return (2u << l) - 1; }},
    {"%lanemask_gt", [](const Warp&, int l, int64_t) -> uint64_t { return ~((2u << l) - 1); }},
    {"%lanemask_ge", [](const Warp&, int l, int64_t) -> uint64_t { return ~((1u << l) - 1); }},
    {"%dynamic_smem_size", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).dynamic_shared; }},
    {"%total_smem_size", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).shared_bytes; }},
    {"%aggr_smem_size", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).shared_bytes; }},
    {"%envreg1", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).grid_barrier >> 32; }},
    {"%envreg2", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).grid_barrier & ~0u; }},
    {"%cluster_ctarank", [](const Warp& w, int, int64_t) -> uint64_t { return w.block->rank; }},
    {"%cluster_nctarank", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).cluster_size(); }},
    {"%is_explicit_cluster", [](const Warp& w, int, int64_t) -> uint64_t { return launch(w).clustered; }}};

uint64_t thread_index(const Warp& w, int lane, int64_t axis) {
    const unsigned t = w.id * LANES + lane, *d = launch(w).block;
    return axis == 0 ? t % d[0] : axis == 1 ? t / d[0] % d[1] : t / (d[0] * d[1]);
}
/// Those with .x, .y and .z; the last parameter is the axis.
const std::map<std::string_view, SpecialValue> VECTORS = {
    {"%tid", thread_index},
    {"%ntid", [](const Warp& w, int, int64_t k) -> uint64_t { return launch(w).block[k]; }},
    {"%ctaid", [](const Warp& w, int, int64_t k) -> uint64_t { return w.block->id[k]; }},
    {"%nctaid", [](const Warp& w, int, int64_t k) -> uint64_t { return launch(w).grid[k]; }},
    {"%clusterid",
     [](const Warp& w, int, int64_t k) -> uint64_t { return w.block->id[k] / launch(w).cluster[k]; }},
    {"%nclusterid",
     [](const Warp& w, int, int64_t k) -> uint64_t { return launch(w).grid[k] / launch(w).cluster[k]; }},
    {"%cluster_ctaid",
     [](const Warp& w, int, int64_t k) -> uint64_t { return w.block->id[k] % launch(w).cluster[k]; }},
    {"%cluster_nctaid", [](const Warp& w, int, int64_t k) -> uint64_t { return launch(w).cluster[k]; }}};
}  // namespace

SpecialValue find_special(std::string_view name, int64_t& axis) {
    axis = 0;
    if (auto it = SCALARS.find(name); it != SCALARS.end()) return it->second;
    if (name.size() < 2 || name[name.size() - 2] != '.') return nullptr;
    axis = name.back() - 'x';
    auto it = VECTORS.find(name.substr(0, name.size() - 2));
    return it == VECTORS.end() || axis < 0 || axis > 2 ? nullptr : it->second;
}

uint64_t dynamic_shared_address(const Warp& w, int, int64_t) {
    return launch(w).dynamic_offset;
}
uint64_t module_shared_address(const Warp& w, int, int64_t variable) {
    return w.block->launch->function->shared_variables.at(variable);
}
uint64_t local_address(const Warp& w, int, int64_t variable) {
    return w.frame->local_base + variable;
}
}  // namespace ladder
