#include "machine/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "counts/profiles.hpp"
#include "counts/report.hpp"

namespace ladder {
namespace {
constexpr size_t ALIGNMENT = 512, POISON_LIMIT = 64 << 20, BURIED_LIMIT = 256 << 20;
constexpr size_t FREED_LIMIT = 1 << 16;  // allocations whose end is remembered
constexpr int POISON = 0xAB;

/// Addresses are given out again only when this much has been: what was freed stays known by its address
/// for long.
constexpr size_t DEVICE_RANGE = size_t{1} << 40;

/// Memory that only the device reaches.
bool lies_on_device(RegionKind kind) {
    return kind == RegionKind::Device || kind == RegionKind::Variable || kind == RegionKind::Constant ||
           kind == RegionKind::Heap || kind == RegionKind::Internal;
}
bool counts_as_device(RegionKind kind) {
    return kind == RegionKind::Device || kind == RegionKind::Managed;
}

char* new_storage(size_t bytes) {
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    char* data = static_cast<char*>(std::aligned_alloc(ALIGNMENT, rounded));
    if (data) std::memset(data, POISON, std::min(rounded, POISON_LIMIT));
    return data;
}
}  // namespace

/// Calls f(word, bits) for each word of the bits from `at` on, until it returns false.
template <class F>
void for_words(size_t at, size_t bytes, F f) {
    for (size_t end = at + bytes; at < end;) {
        size_t bit = at % 64, n = std::min<size_t>(64 - bit, end - at);
        if (!f(at / 64, (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << bit)) return;
        at += n;
    }
}
void ByteBits::set(size_t at, size_t bytes) {
    for_words(at, bytes, [&](size_t word, uint64_t bits) { return words_[word] |= bits; });
}
void ByteBits::clear(size_t at, size_t bytes) {
    for_words(at, bytes, [&](size_t word, uint64_t bits) {
        words_[word] &= ~bits;
        return true;
    });
}
bool ByteBits::none_of_many(size_t at, size_t bytes) const {
    bool none = true;
    for_words(at, bytes, [&](size_t word, uint64_t bits) { return none = !(words_[word] & bits); });
    return none;
}

namespace {
/// What eight bytes hold that nothing has written, by their place. No program is likely to write just that.
uint64_t pattern(uint64_t place) {
    uint64_t x = (place + 1) * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    return x ^ x >> 27;
}
}  // namespace

bool Region::holds_pattern(uint64_t offset, size_t bytes) const {
    for (uint64_t place = offset / 8; place * 8 < offset + bytes; ++place) {
        uint64_t here;
        if (place * 8 + 8 > size || place * 8 + 8 > POISON_LIMIT) return false;
        std::memcpy(&here, data + place * 8, 8);
        if (here != pattern(place)) return false;
    }
    return true;
}

Memory::Memory() {
    void* range = mmap(nullptr, DEVICE_RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return;  // where address space is scarce, device memory has the addresses of its storage
    device_begin_ = next_address_ = reinterpret_cast<uint64_t>(range);
    device_bytes_ = DEVICE_RANGE;
}

/// The next free place in the device's range, with a gap behind it.
uint64_t Memory::device_address(size_t bytes) {
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    uint64_t at = next_address_;
    if (at + rounded > device_begin_ + device_bytes_) at = device_begin_;
    for (auto next = regions_.lower_bound(at); next != regions_.end() && next->first < at + rounded; ++next)
        at = (next->first + next->second->size + ALIGNMENT) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    next_address_ = at + rounded;
    return at;
}

Region* Memory::insert(uint64_t base, char* data, size_t bytes, RegionKind kind, const std::string& what) {
    auto region = std::make_unique<Region>();
    region->base = base;
    region->data = data;
    region->size = bytes;
    region->kind = kind;
    region->what = what;
    return (regions_[region->base] = std::move(region)).get();
}

Region* Memory::allocate(size_t bytes, RegionKind kind, const std::string& what) {
    if (counts_as_device(kind) && (bytes > TOTAL || in_use_ + bytes > TOTAL)) return nullptr;
    char* data = new_storage(bytes);
    if (!data) return nullptr;
    uint64_t base =
        device_bytes_ && lies_on_device(kind) ? device_address(bytes) : reinterpret_cast<uint64_t>(data);
    Region* region = insert(base, data, bytes, kind, what);
    if (kind == RegionKind::Device) {
        region->what += say(" #", ++serial_);
        region->tracked = true;
        region->written.reset(bytes);
    }
    if (kind == RegionKind::Managed || kind == RegionKind::Host) {
        region->patterned = true;
        for (uint64_t place = 0; place * 8 + 8 <= std::min(bytes, POISON_LIMIT); ++place) {
            const uint64_t x = pattern(place);
            std::memcpy(data + place * 8, &x, 8);
        }
    }
    if (counts_as_device(kind)) in_use_ += bytes;
    for (auto it = freed_.lower_bound(region->base); it != freed_.end() && it->first < region->base + bytes;)
        it = it->second.data ? std::next(it) : freed_.erase(it);
    return region;
}

Region* Memory::add_variable(const std::string& name, size_t bytes, RegionKind kind) {
    const char* what = kind == RegionKind::Constant  ? "__constant__ variable "
                       : kind == RegionKind::Managed ? "__managed__ variable "
                                                     : "__device__ variable ";
    Region* region = allocate(bytes, kind, what + name);
    if (!region) return nullptr;
    region->variable = true;
    std::memset(region->data, 0, bytes);
    return region;
}

void Memory::adopt(void* pointer, size_t bytes, const std::string& what) {
    insert(reinterpret_cast<uint64_t>(pointer), static_cast<char*>(pointer), bytes,
           RegionKind::RegisteredHost, what);
}

// Freed storage is kept for a while, so that its addresses are not given out again at once and a use after
// free is seen as one.
void Memory::bury(Region& region) {
    freed_[region.base] = {region.size, name_of(region), region.data};
    burial_order_.push_back(region.base);
    buried_ += region.size;
    while ((buried_ > BURIED_LIMIT || burial_order_.size() > FREED_LIMIT) && !burial_order_.empty()) {
        auto oldest = freed_.find(burial_order_.front());
        burial_order_.pop_front();
        std::free(oldest->second.data);
        oldest->second.data = nullptr;
        buried_ -= oldest->second.size;
        if (freed_.size() > FREED_LIMIT) freed_.erase(oldest);
    }
}

bool Memory::release(void* pointer) {
    auto it = regions_.find(reinterpret_cast<uint64_t>(pointer));
    if (it == regions_.end()) return false;
    Region& region = *it->second;
    if (counts_as_device(region.kind)) in_use_ -= region.size;
    if (region.kind != RegionKind::RegisteredHost) bury(region);
    regions_.erase(it);
    return true;
}

Region* Memory::beginning_at(const void* pointer) {
    auto it = regions_.find(reinterpret_cast<uint64_t>(pointer));
    return it == regions_.end() ? nullptr : it->second.get();
}

Region* Memory::find(uint64_t address) {
    auto it = regions_.upper_bound(address);
    if (it == regions_.begin()) return nullptr;
    Region* region = std::prev(it)->second.get();
    return address - region->base < region->size || address == region->base ? region : nullptr;
}

std::string Memory::describe(uint64_t address) const {
    if (address == 0) return "the null pointer";
    if (address < 4096) return say("the null pointer plus ", address);
    const bool device = on_device(address);
    auto after = regions_.upper_bound(address);
    if (after != regions_.begin()) {
        const Region& before = *std::prev(after)->second;
        uint64_t offset = address - before.base;
        if (offset < before.size) return place_in(before, offset);
        if (device ? on_device(before.base) : offset < before.size + (1 << 12))
            return say(place_in(before, offset), ", ", offset - before.size, " bytes past its end");
    }
    if (after != regions_.end() && after->first - address < 4096)
        return say(name_of(*after->second), ", ", after->first - address, " bytes before its start");
    return device || !device_bytes_ ? "no allocation is near" : "an address of the host, not of the device";
}

std::string Memory::freed(uint64_t address) const {
    auto it = freed_.upper_bound(address);
    if (it == freed_.begin()) return "";
    const auto& [base, freed] = *--it;
    return address - base < freed.size ? say(freed.what, ", offset ", address - base) : "";
}
bool Memory::was_freed(const void* pointer) const {
    return freed_.count(reinterpret_cast<uint64_t>(pointer));
}

std::vector<const Region*> Memory::leaks(bool all) const {
    std::vector<const Region*> leaks;
    for (const auto& [base, region] : regions_) {
        bool more = region->kind == RegionKind::Host || region->kind == RegionKind::Heap;
        if (!region->variable && (counts_as_device(region->kind) || (all && more)))
            leaks.push_back(region.get());
    }
    return leaks;
}

// Never destroyed: programs free memory from destructors of statics.
Memory& memory() {
    static Memory* all = new Memory;
    return *all;
}

std::string name_of(const Region& region) {
    return say(region.what, " of ", region.size, " bytes");
}
const SharedVariable* Region::variable_at(uint64_t offset) const {
    auto next = std::upper_bound(
        variables->begin(), variables->end(), offset,
        [](uint64_t at, const SharedVariable& v) { return at < static_cast<uint64_t>(v.begin); });
    return next == variables->begin() ? nullptr : &*std::prev(next);
}

std::string place_in(const Region& region, uint64_t offset) {
    if (const SharedVariable* v = region.variables ? region.variable_at(offset) : nullptr) {
        const int size = v->end - v->begin, at = static_cast<int>(offset) - v->begin;
        return say(readable_variable(v->name), " of ", size, " bytes, offset ", at,
                   at < size ? std::string() : say(", ", at - size, " bytes past its end"));
    }
    return say(name_of(region), ", offset ", static_cast<int64_t>(offset));
}
}  // namespace ladder
