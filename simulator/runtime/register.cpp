// What nvcc's startup code registers: fat binaries, kernels and variables.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ptx/fat_binary.hpp"
#include "ptx/parser.hpp"
#include "runtime/runtime.hpp"

namespace ladder {
namespace {
struct FatWrapper {
    int magic, version;  ///< 2: code that the device linker made of several files' (-rdc=true)
    const char* data;
    void* more;
};
struct Pending {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};
struct Registry {
    std::map<const void*, KernelSymbol> kernels;
    std::map<const void*, std::pair<void*, size_t>> variables;
    std::vector<std::unique_ptr<Module>> modules;
    std::vector<Pending> pending;
};
Registry& registry() {
    static auto* all = new Registry;
    return *all;
}

std::pair<void*, size_t>* find_variable(const void* symbol) {
    auto it = registry().variables.find(symbol);
    return it == registry().variables.end() ? nullptr : &it->second;
}
void* register_variable(void** module, const void* host, const char* name, size_t size) {
    Entry entry;
    auto& all = reinterpret_cast<Module*>(module)->variables;
    auto it = all.find(name);
    if (it == all.end()) return nullptr;
    registry().variables[host] = {it->second, size};
    return it->second;
}

cudaError_t copy_symbol(void* data, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                        cudaStream_t stream, bool to_symbol, bool waits) {
    Entry entry;
    auto* v = find_variable(symbol);
    const char* call = to_symbol ? "cudaMemcpyToSymbol" : "cudaMemcpyFromSymbol";
    if (!v) return remember(cudaErrorInvalidSymbol, call);
    if (offset > v->second || bytes > v->second - offset) return remember(cudaErrorInvalidValue, call);
    void* at = static_cast<char*>(v->first) + offset;
    Operation run =
        copying(to_symbol ? one_row(at, data, bytes, kind) : one_row(data, at, bytes, kind), call);
    return waits ? submit_and_wait(stream, call, run) : submit(stream, call, run);
}
}  // namespace

KernelSymbol* find_kernel(const void* symbol) {
    auto it = registry().kernels.find(symbol);
    return it == registry().kernels.end() ? nullptr : &it->second;
}
const Function* find_function(const void* symbol) {
    KernelSymbol* k = find_kernel(symbol);
    if (!k) return nullptr;
    auto it = k->module->functions.find(k->name);
    return it == k->module->functions.end() || !it->second.defined ? nullptr : &it->second;
}
}  // namespace ladder

using namespace ladder;
extern "C" {
void** __cudaRegisterFatBinary(void* wrapper) {
    Entry entry;
    registry().modules.push_back(std::make_unique<Module>());
    Module& m = *registry().modules.back();
    const char* why = nullptr;
    std::string text = best_ptx(static_cast<FatWrapper*>(wrapper)->data, why);
    try {
        if (text.empty() && static_cast<FatWrapper*>(wrapper)->version == 2)
            why = "it is relocatable device code (-rdc=true), which the simulator does not link";
        if (text.empty())
            std::fprintf(stderr, "ladder simulator: this program cannot be simulated: %s\n", why);
        else
            parse_ptx(text, m);
    } catch (const ParseError& e) {
        std::fprintf(stderr, "ladder simulator: the program's PTX cannot be read: %s\n", e.what());
        m.functions.clear();
    }
    return reinterpret_cast<void**>(&m);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
    return 1;
}
void __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
    Entry entry;
    KernelSymbol& k = registry().kernels[host];
    k.module = reinterpret_cast<Module*>(module);
    k.name = name;
}
void __cudaRegisterVar(void** module, char* host, char*, const char* name, int, size_t size, int, int) {
    register_variable(module, host, name, size);
}
void __cudaRegisterManagedVar(void** module, void** host, char*, const char* name, int, size_t size, int,
                              int) {
    if (void* address = register_variable(module, host, name, size)) *host = address;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
    Entry entry;
    registry().pending.push_back({grid, block, shared, stream});
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    Entry entry;
    if (registry().pending.empty()) return remember(cudaErrorMissingConfiguration);
    Pending p = registry().pending.back();
    registry().pending.pop_back();
    *grid = p.grid;
    *block = p.block;
    *shared = p.shared;
    *static_cast<cudaStream_t*>(stream) = p.stream;
    return cudaSuccess;
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
    if (!find_kernel(symbol)) return remember(cudaErrorInvalidDeviceFunction);
    return give(function, reinterpret_cast<cudaFunction_t>(const_cast<void*>(symbol)));
}
cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
    auto* v = find_variable(symbol);
    return v ? give(pointer, v->first) : remember(cudaErrorInvalidSymbol);
}
cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
    auto* v = find_variable(symbol);
    return v ? give(size, v->second) : remember(cudaErrorInvalidSymbol);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t n, size_t offset,
                               cudaMemcpyKind kind) {
    return copy_symbol(const_cast<void*>(from), symbol, n, offset, kind, nullptr, true, true);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t n, size_t offset, cudaMemcpyKind kind) {
    return copy_symbol(to, symbol, n, offset, kind, nullptr, false, true);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t n, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_symbol(const_cast<void*>(from), symbol, n, offset, kind, stream, true, false);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t n, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_symbol(to, symbol, n, offset, kind, stream, false, false);
}
}
