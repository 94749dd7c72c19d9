// Device memory: allocations with their bounds, which bytes were ever written, and the shadow of the
// race check.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/program.hpp"

namespace ladder {
/// One bit for each byte of a region: was it ever written?
class ByteBits {
 public:
    void reset(size_t bytes) { words_.assign(bytes / 64 + 2, 0); }
    void resize(size_t bytes) { words_.resize(bytes / 64 + 2); }
    void set(size_t at, size_t bytes);
    void clear(size_t at, size_t bytes);
    bool none(size_t at, size_t bytes) const {
        size_t bit = at % 64;
        if (bit + bytes > 64 || bytes == 64) return none_of_many(at, bytes);
        return !(words_[at / 64] & ((uint64_t{1} << bytes) - 1) << bit);
    }

 private:
    bool none_of_many(size_t at, size_t bytes) const;
    std::vector<uint64_t> words_;
};

/// Who touched a 4-byte word, and when in the launch's count of synchronisations.
struct AccessRecord {
    uint32_t time = 0, block = 0, instruction = 0;
    uint16_t thread = 0;
    uint8_t bytes = 0;  ///< which of the word's four bytes, as bits; a write's OTHER_BYTES, too
    uint8_t strong = 0;
};
/// Of a word's bytes others than those of its last write were written before, by whom
/// Shadow::byte_writes says.
constexpr uint8_t OTHER_BYTES = 16;
struct ShadowWord {
    AccessRecord write, read[2];
};

/// The shadow words of a region, made as they are needed.
class Shadow {
 public:
    ShadowWord& word(size_t index) {
        size_t page = index / PAGE;
        if (page >= pages_.size()) pages_.resize(page + 1);
        if (!pages_[page]) pages_[page] = std::make_unique<ShadowWord[]>(PAGE);
        return pages_[page][index % PAGE];
    }
    /// Calls f for each word that has one.
    template <class F>
    void for_each(F f) {
        for (auto& page : pages_)
            for (size_t k = 0; page && k < PAGE; ++k) f(page[k]);
    }
    /// The last write of each byte of a word of which the threads write parts.
    std::unordered_map<size_t, std::array<AccessRecord, 4>> byte_writes;

 private:
    static constexpr size_t PAGE = 1024;
    std::vector<std::unique_ptr<ShadowWord[]>> pages_;
};

enum class RegionKind : uint8_t {
    Device,
    Managed,
    Host,
    RegisteredHost,
    Variable,
    Constant,
    Heap,
    Internal,
    Shared
};

struct Region {
    uint64_t base = 0;  ///< device address of the first byte; shared memory: 0
    char* data = nullptr;
    size_t size = 0;
    RegionKind kind = RegionKind::Device;
    std::string what;       ///< "cudaMalloc", "__device__ variable x"
    bool variable = false;  ///< of the program, never freed
    bool tracked = false;   ///< are its written bytes known?
    bool patterned =
        false;  ///< does memory that nothing has written hold a pattern? (The host's writes are not seen.)
    ByteBits written;
    Shadow shadow;
    const std::vector<SharedVariable>* variables = nullptr;  ///< of shared memory

    bool contains(uint64_t address, size_t bytes) const {
        return address >= base && address - base <= size && bytes <= size - (address - base);
    }
    /// The variable of shared memory at an offset, or the last one before it; null where there is none.
    const SharedVariable* variable_at(uint64_t offset) const;
    /// Do the bytes lie in one variable of shared memory, not in a gap?
    bool in_one_variable(uint64_t offset, size_t bytes) const {
        const SharedVariable* v = variable_at(offset);
        return v && offset + bytes <= static_cast<uint64_t>(v->end);
    }
    bool uninitialised(uint64_t offset, size_t bytes) const {
        return tracked ? written.none(offset, bytes) : patterned && holds_pattern(offset, bytes);
    }
    bool holds_pattern(uint64_t offset, size_t bytes) const;
};

/// All memory that kernels and copies may name. The addresses of the device's own lie in a range that the
/// host may not touch, so that none is a neighbour of the host's memory and a use by the host is seen.
class Memory {
 public:
    static constexpr size_t TOTAL = size_t{4} << 30;

    Memory();

    /// Null when the device's memory does not suffice.
    Region* allocate(size_t bytes, RegionKind kind, const std::string& what);
    Region* add_variable(const std::string& name, size_t bytes, RegionKind kind);
    void adopt(void* pointer, size_t bytes, const std::string& what);
    /// Frees the allocation that begins at `pointer`; false if there is none.
    bool release(void* pointer);
    /// The allocation that begins at `pointer`, or null.
    Region* beginning_at(const void* pointer);

    Region* find(uint64_t address);
    /// Is it an address of the device's own memory, allocated or not?
    bool on_device(uint64_t address) const { return address - device_begin_ < device_bytes_; }
    /// "1032 bytes into the 1024 bytes of cudaMalloc #2", for an address that no region holds.
    std::string describe(uint64_t address) const;
    /// The text of a freed allocation that held the address, or empty.
    std::string freed(uint64_t address) const;
    bool was_freed(const void* pointer) const;
    size_t in_use() const { return in_use_; }
    /// What was never freed: device memory; with `all` the host's and that of kernels, too.
    std::vector<const Region*> leaks(bool all) const;

 private:
    struct Freed {
        size_t size;
        std::string what;
        char* data;
    };
    Region* insert(uint64_t base, char* data, size_t bytes, RegionKind kind, const std::string& what);
    uint64_t device_address(size_t bytes);
    void bury(Region& region);

    std::map<uint64_t, std::unique_ptr<Region>> regions_;
    std::map<uint64_t, Freed> freed_;
    std::deque<uint64_t> burial_order_;
    uint64_t device_begin_ = 0, device_bytes_ = 0, next_address_ = 0;
    size_t in_use_ = 0, buried_ = 0, serial_ = 0;
};

Memory& memory();

/// What and where, for messages: "cudaMalloc #2 of 1024 bytes".
std::string name_of(const Region& region);
/// "cudaMalloc #2 of 1024 bytes, offset 32".
std::string place_in(const Region& region, uint64_t offset);
}  // namespace ladder
