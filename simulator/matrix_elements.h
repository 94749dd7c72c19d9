// Elements of the tensor-core instructions' fragments.
#pragma once
#include <cstring>

#include "program.h"
#include "small_float.h"

namespace ladder {

inline int element_bits(Type t) {
    switch (t) {
        case Type::U8:
        case Type::S8:
            return 8;
        case Type::F16:
        case Type::BF16:
            return 16;
        case Type::F64:
            return 64;
        default:
            return 32;
    }
}

/// Element e of a register's lane.
inline double element(const char* lane, Type t, int e) {
    uint16_t h;
    float f;
    double d;
    int32_t i;
    std::memcpy(&h, lane + (element_bits(t) == 16 ? 2 * e : 0), 2);
    std::memcpy(&f, lane, 4);
    std::memcpy(&i, lane, 4);
    switch (t) {
        case Type::F16:
            return Half{h}.value();
        case Type::BF16:
            return Bfloat{h}.value();
        case Type::TF32:
            return round_to(f, kTf32Format, 'z');
        case Type::F32:
            return f;
        case Type::S32:
            return i;
        case Type::U8:
            return static_cast<uint8_t>(lane[e]);
        case Type::S8:
            return static_cast<int8_t>(lane[e]);
        default:
            std::memcpy(&d, lane, 8);
            return d;
    }
}
inline void set_element(char* lane, Type t, int e, double v) {
    if (t == Type::F16) {
        Half h = Half::from(v);
        std::memcpy(lane + 2 * e, &h, 2);
    } else if (t == Type::F32) {
        float f = static_cast<float>(v);
        std::memcpy(lane, &f, 4);
    } else if (t == Type::S32) {
        uint32_t i = static_cast<uint32_t>(static_cast<int64_t>(v));
        std::memcpy(lane, &i, 4);
    } else {
        std::memcpy(lane, &v, 8);
    }
}

}  // namespace ladder
