#include "cuda_error.cuh"

#include <gtest/gtest.h>

#include <string>

TEST(ExitCode, WhatCannotRunHereIsNotAWrongResult) {
    EXPECT_EQ(exit_code_of(static_cast<cudaError_t>(35)), 77);   // no driver
    EXPECT_EQ(exit_code_of(static_cast<cudaError_t>(100)), 77);  // no device
    EXPECT_EQ(exit_code_of(cudaErrorDevicesUnavailable), 77);
    EXPECT_EQ(exit_code_of(cudaErrorNoKernelImageForDevice), 77);
    EXPECT_EQ(exit_code_of(cudaErrorMemoryAllocation), 77);
    EXPECT_EQ(exit_code_of(cudaErrorIllegalAddress), 1);
    EXPECT_EQ(exit_code_of(cudaErrorInvalidConfiguration), 1);
}

TEST(Hint, NoDeviceSaysWhatToDo) {
    for (int error : {35, 100})
        EXPECT_NE(std::string(hint_for(static_cast<cudaError_t>(error))).find("--simulate"),
                  std::string::npos);
    EXPECT_STREQ(hint_for(cudaErrorIllegalAddress), "");
}

TEST(CheckCudaCall, SaysWhereAndWhatAndExits) {
    EXPECT_EXIT(CHECK_CUDA_CALL(cudaErrorInvalidValue), testing::ExitedWithCode(1),
                "cuda_error_test.cpp:[0-9]+: cudaErrorInvalidValue: cudaErrorInvalidValue: invalid argument");
    EXPECT_EXIT(CHECK_CUDA_CALL(cudaErrorNoDevice), testing::ExitedWithCode(77), "--simulate");
}

TEST(CheckCudaCall, RunsTheCallOnceAndGoesOn) {
    int calls = 0;
    const auto call = [&] {
        ++calls;
        return cudaSuccess;
    };
    CHECK_CUDA_CALL(call());
    EXPECT_EQ(calls, 1);
}
