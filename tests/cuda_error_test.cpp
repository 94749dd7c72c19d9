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

TEST(CheckCudaCall, SaysWhereAndWhat) {
    try {
        CHECK_CUDA_CALL(cudaErrorInvalidValue);
        FAIL() << "the error went unnoticed";
    } catch (const CudaError& error) {
        EXPECT_EQ(error.code, cudaErrorInvalidValue);
        const std::string text = error.what();
        const size_t name = text.find("cuda_error_test.cpp:");
        ASSERT_NE(name, std::string::npos) << text;
        EXPECT_NE(text.find(": cudaErrorInvalidValue: cudaErrorInvalidValue: invalid argument", name),
                  std::string::npos)
            << text;
        EXPECT_EQ(text.find('\n'), std::string::npos);
    }
}

TEST(CheckCudaCall, GivesTheHintOnALineOfItsOwn) {
    try {
        CHECK_CUDA_CALL(cudaErrorNoDevice);
        FAIL() << "the error went unnoticed";
    } catch (const CudaError& error) {
        EXPECT_EQ(exit_code_of(error.code), 77);
        EXPECT_NE(std::string(error.what()).find("\nNo GPU is visible"), std::string::npos) << error.what();
    }
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
