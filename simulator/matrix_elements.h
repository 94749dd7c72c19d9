// Elements of the tensor-core instructions' fragments.
#pragma once
#include <cstring>

#include "program.h"
#include "small_float.h"

namespace ladder {

inline int element_bits(Type t) { return 8 * size_of(t); }

template <class T>
T read(const char* from) {
    T v;
    std::memcpy(&v, from, sizeof(T));
    return v;
}
/// Element e of a register's lane.
inline double element(const char* lane, Type t, int e) {
    switch (t) {
        case Type::F16: return read<Half>(lane + 2 * e).value();
        case Type::BF16: return read<Bfloat>(lane + 2 * e).value();
        case Type::TF32: return round_to(read<float>(lane), kTf32Format, 'z');
        case Type::F32: return read<float>(lane);
        case Type::S32: return read<int32_t>(lane);
        case Type::U8: return read<uint8_t>(lane + e);
        case Type::S8: return read<int8_t>(lane + e);
        default: return read<double>(lane);
    }
}
inline void set_element(char* lane, Type t, int e, double v) {
    auto write = [&](auto value) { std::memcpy(lane + e * sizeof(value), &value, sizeof(value)); };
    switch (t) {
        case Type::F16: return write(Half::from(v));
        case Type::F32: return write(static_cast<float>(v));
        case Type::S32: return write(static_cast<uint32_t>(static_cast<int64_t>(v)));
        default: return write(v);
    }
}

}  // namespace ladder
