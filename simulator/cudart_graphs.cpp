// Graphs: nodes are kept in the order in which they were added, which respects their dependencies, and run in
// it.
#include <algorithm>
#include <map>

#include "runtime.h"

struct CUgraphNode_st {
    std::vector<CUgraphNode_st*> after;
    std::string name;
    ladder::Operation run;
    ladder::LaunchRequest launch;
    bool kernel = false;
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

void set_launch(CUgraphNode_st& node, const LaunchRequest& launch) {
    node.kernel = true;
    node.launch = launch;
    node.run = [launch](int operation) { return run_launch(launch, operation); };
}

cudaError_t request_of(const cudaKernelNodeParams& p, LaunchRequest& r) {
    if (cudaError_t e = prepare_launch(p.func, p.gridDim, p.blockDim, p.kernelParams, p.sharedMemBytes, r))
        return e;
    return check_launch(r);
}

cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t n,
                const std::string& name, Operation run, const LaunchRequest* launch = nullptr) {
    Entry entry;
    return give(node, add_node(graph, {after, after + (after ? n : 0)}, name, std::move(run), launch));
}

CUgraphNode_st* find_in(cudaGraphExec_t exec, const CUgraphNode_st* node) {
    auto it = std::find(exec->origins.begin(), exec->origins.end(), node);
    return it == exec->origins.end() ? nullptr
                                     : &exec->nodes[static_cast<size_t>(it - exec->origins.begin())];
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
                         const std::string& name, Operation run, const LaunchRequest* launch) {
    graph->nodes.push_back(std::make_unique<CUgraphNode_st>());
    CUgraphNode_st& node = *graph->nodes.back();
    node.after = after;
    node.name = name;
    node.run = std::move(run);
    if (launch) set_launch(node, *launch);
    return &node;
}

}  // namespace ladder

using namespace ladder;

extern "C" {
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) { return give(graph, new CUgraph_st); }
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
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    Entry entry;
    for (CUgraphNode_st& node : exec->nodes)
        if (cudaError_t e = submit(stream, node.name + " of a graph", node.run)) return remember(e);
    return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t n, const cudaKernelNodeParams* p) {
    Entry entry;
    LaunchRequest r;
    if (cudaError_t e = request_of(*p, r)) return remember(e);
    return add(node, graph, after, n, "kernel " + readable_name(r.function->name), nullptr, &r);
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
    Entry entry;
    for (size_t k = 0; nodes && k < std::min(*n, graph->nodes.size()); ++k) nodes[k] = graph->nodes[k].get();
    *n = graph->nodes.size();
    return cudaSuccess;
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* n) {
    Entry entry;
    size_t found = 0;
    for (auto& node : graph->nodes) {
        if (!node->after.empty()) continue;
        if (nodes && found < *n) nodes[found] = node.get();
        ++found;
    }
    *n = found;
    return cudaSuccess;
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
    static std::map<const CUgraphNode_st*, std::vector<void*>> pointers;
    auto& list = pointers[node];
    list.clear();
    for (const Parameter& each : node->launch.function->parameters)
        list.push_back(&node->launch.parameters[static_cast<size_t>(each.offset)]);
    *p = {};
    p->func = const_cast<void*>(node->launch.symbol);
    p->gridDim = node->launch.grid;
    p->blockDim = node->launch.block;
    p->sharedMemBytes = static_cast<unsigned>(node->launch.dynamic_shared);
    p->kernelParams = list.data();
    return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
    Entry entry;
    LaunchRequest r;
    if (cudaError_t e = request_of(*p, r)) return remember(e);
    set_launch(*node, r);
    return cudaSuccess;
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
    Entry entry;
    LaunchRequest r;
    CUgraphNode_st* mine = find_in(exec, node);
    if (!mine) return remember(cudaErrorInvalidValue);
    if (cudaError_t e = request_of(*p, r)) return remember(e);
    set_launch(*mine, r);
    return cudaSuccess;
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
