// cuTensorMapEncodeTiled, which programs ask the runtime for by name. It refuses what the driver refuses.
#include <cuda.h>

#include <cstring>

#include "machine/tensor_map.hpp"
#include "runtime/runtime.hpp"

namespace ladder {
namespace {
CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* array,
                           const cuuint64_t* sides, const cuuint64_t* pitches, const cuuint32_t* box,
                           const cuuint32_t* strides, CUtensorMapInterleave interleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
    static_assert(sizeof(CUtensorMap) == sizeof(TensorMap));
    TensorMap m = {};
    m.magic = TensorMap::MAGIC;
    m.base = reinterpret_cast<uint64_t>(array);
    m.rank = rank;
    m.swizzle = swizzle;
    switch (type) {
        case CU_TENSOR_MAP_DATA_TYPE_UINT8:
            m.pitches[0] = 1;
            break;
        case CU_TENSOR_MAP_DATA_TYPE_UINT16:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
        case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
            m.pitches[0] = 2;
            break;
        case CU_TENSOR_MAP_DATA_TYPE_UINT32:
        case CU_TENSOR_MAP_DATA_TYPE_INT32:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
            m.pitches[0] = 4;
            break;
        case CU_TENSOR_MAP_DATA_TYPE_UINT64:
        case CU_TENSOR_MAP_DATA_TYPE_INT64:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
            m.pitches[0] = 8;
            break;
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
        swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
        return CUDA_ERROR_NOT_SUPPORTED;
    bool good = rank >= 1 && rank <= TensorMap::MOST_DIMENSIONS && m.base % 16 == 0;
    for (uint32_t i = 0; i < TensorMap::MOST_DIMENSIONS; ++i) {
        bool is_there = good && i < rank;
        m.sides[i] = is_there ? sides[i] : 1;
        m.box[i] = is_there ? box[i] : 1;
        if (i > 0) m.pitches[i] = is_there ? pitches[i - 1] : 0;
        good = good && m.sides[i] >= 1 && m.sides[i] <= uint64_t{1} << 32 && m.box[i] >= 1 && m.box[i] <= 256;
        good = good && (!is_there || strides[i] == 1) && (i == 0 || m.pitches[i] % 16 == 0) &&
               m.pitches[i] < uint64_t{1} << 40;
    }
    good = good && m.row_bytes() % 16 == 0 && (swizzle == 0 || m.row_bytes() <= 16u << m.swizzle);
    if (!good) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}
}  // namespace

void* tensor_map_encoder() {
    return reinterpret_cast<void*>(encode_tensor_map);
}
}  // namespace ladder
