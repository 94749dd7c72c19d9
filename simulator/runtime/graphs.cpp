// Graphs: nodes are kept in the order in which they were added, which respects their dependencies, and run
// in it.
#include <algorithm>

#include "runtime/runtime.hpp"

struct CUgraphNode_st {
    std::vector<CUgraphNode_st*> after;
    std::string name;
    ladder::Operation run;
    ladder::Launch launch;
    bool kernel = false;
    std::vector<void*> pointers{};  ///< what cudaGraphKernelNodeGetParams gave
};
struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
    std::vector<CUgraphNode_st> nodes;
    std::vector<const CUgraphNode_st*> origins;
};

namespace ladder {
namespace {
void set_launch(CUgraphNode_st& node, const Launch& launch) {
    node.kernel = true;
    node.launch = launch;
    node.run = [launch](int operation) { return run_launch(launch, operation); };
}

cudaError_t launch_of(const cudaKernelNodeParams& p, Launch& l) {
    cudaError_t e = prepare_launch(p.func, p.gridDim, p.blockDim, p.kernelParams, p.sharedMemBytes, l);
    return e ? e : check_launch(l);
}

cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t n,
                const std::string& name, Operation run, const Launch* launch = nullptr) {
    Entry entry;
    return give(node, add_node(graph, {after, after + (after ? n : 0)}, name, std::move(run), launch));
}

CUgraphNode_st* find_in(cudaGraphExec_t exec, const CUgraphNode_st* node) {
    auto it = std::find(exec->origins.begin(), exec->origins.end(), node);
    return it == exec->origins.end() ? nullptr : &exec->nodes[it - exec->origins.begin()];
}
cudaError_t set_kernel(CUgraphNode_st* node, const cudaKernelNodeParams& p) {
    Entry entry;
    Launch l;
    if (!node) return remember(cudaErrorInvalidValue);
    if (cudaError_t e = launch_of(p, l)) return remember(e);
    set_launch(*node, l);
    return cudaSuccess;
}
cudaError_t list_nodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* n, bool only_roots) {
    Entry entry;
    size_t found = 0;
    for (auto& node : graph->nodes) {
        if (only_roots && !node->after.empty()) continue;
        if (nodes && found < *n) nodes[found] = node.get();
        ++found;
    }
    return give(n, found);
}

Operation fill_operation(const cudaMemsetParams& p) {
    if (p.elementSize == 1) return filling(p.dst, p.pitch, p.value, p.width, p.height, "memset node");
    // Wider values go element by element through a host copy.
    return [p](int operation) {
        for (size_t k = 0; k < p.width * p.height; ++k) {
            char* at = static_cast<char*>(p.dst) + k / p.width * p.pitch + k % p.width * p.elementSize;
            Rows one = one_row(at, &p.value, p.elementSize, cudaMemcpyHostToDevice);
            if (cudaError_t e = copying(one, "memset node")(operation)) return e;
        }
        return cudaSuccess;
    };
}
}  // namespace

CUgraphNode_st* add_node(CUgraph_st* graph, const std::vector<CUgraphNode_st*>& after,
                         const std::string& name, Operation run, const Launch* launch) {
    CUgraphNode_st fresh{after, name, std::move(run), {}};
    CUgraphNode_st& node = *graph->nodes.emplace_back(std::make_unique<CUgraphNode_st>(std::move(fresh)));
    if (launch) set_launch(node, *launch);
    return &node;
}
}  // namespace ladder

using namespace ladder;
extern "C" {
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    return give(graph, new CUgraph_st);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    Entry entry;
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    Entry entry;
    delete exec;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    Entry entry;
    *exec = new CUgraphExec_st;
    for (auto& node : graph->nodes) {
        (*exec)->nodes.push_back(*node);
        (*exec)->origins.push_back(node.get());
    }
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
    return cudaGraphInstantiate(exec, graph, flags);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    Entry entry;
    for (CUgraphNode_st& node : exec->nodes)
        if (cudaError_t e = submit(stream, node.name + " of a graph", node.run)) return remember(e);
    return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t n, const cudaKernelNodeParams* p) {
    Entry entry;
    Launch l;
    if (cudaError_t e = launch_of(*p, l)) return remember(e);
    return add(node, graph, after, n, "kernel " + readable_name(l.function->name), nullptr, &l);
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t n, void* to, const void* from, size_t bytes,
                                     cudaMemcpyKind kind) {
    return add(node, graph, after, n, "memcpy node", copying(one_row(to, from, bytes, kind), "memcpy node"));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t n, const cudaMemsetParams* p) {
    return add(node, graph, after, n, "memset node", fill_operation(*p));
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                 size_t n, const cudaHostNodeParams* p) {
    cudaHostNodeParams host = *p;
    return add(node, graph, after, n, "host node", [host](int) {
        host.fn(host.userData);
        return cudaSuccess;
    });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                  size_t n) {
    return add(node, graph, after, n, "empty node", [](int) { return cudaSuccess; });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* n) {
    return list_nodes(graph, nodes, n, false);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* n) {
    return list_nodes(graph, nodes, n, true);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    auto is = [&](const char* name) { return node->name.starts_with(name); };
    return give(type, node->kernel                                  ? cudaGraphNodeTypeKernel
                      : is("memset") || is("cudaMemset")            ? cudaGraphNodeTypeMemset
                      : is("host node") || is("cudaLaunchHostFunc") ? cudaGraphNodeTypeHost
                      : is("empty node")                            ? cudaGraphNodeTypeEmpty
                                                                    : cudaGraphNodeTypeMemcpy);
}
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
    Entry entry;
    if (!node->kernel) return remember(cudaErrorInvalidValue);
    // The pointers stay valid as long as the node's arguments do, as with the real runtime.
    Launch& l = node->launch;
    node->pointers.clear();
    for (const Parameter& each : l.function->parameters) node->pointers.push_back(&l.parameters[each.offset]);
    *p = {const_cast<void*>(l.symbol),
          dim3(l.grid[0], l.grid[1], l.grid[2]),
          dim3(l.block[0], l.block[1], l.block[2]),
          static_cast<unsigned>(l.dynamic_shared),
          node->pointers.data(),
          nullptr};
    return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
    return set_kernel(node, *p);
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
    return set_kernel(find_in(exec, node), *p);
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, cudaMemcpyKind kind) {
    Entry entry;
    CUgraphNode_st* mine = find_in(exec, node);
    if (!mine) return remember(cudaErrorInvalidValue);
    mine->run = copying(one_row(to, from, bytes, kind), "memcpy node");
    return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
    Entry entry;
    bool same = exec->nodes.size() == graph->nodes.size();
    for (size_t k = 0; same && k < graph->nodes.size(); ++k)
        same = exec->nodes[k].kernel == graph->nodes[k]->kernel;
    if (info) *info = {};
    if (info) info->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    if (!same) return remember(cudaErrorGraphExecUpdateFailure);
    for (size_t k = 0; k < graph->nodes.size(); ++k) {
        exec->nodes[k] = *graph->nodes[k];
        exec->origins[k] = graph->nodes[k].get();
    }
    return cudaSuccess;
}
}
