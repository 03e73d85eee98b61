// ResNet-18 for images of 32 x 32 in ten classes.
#pragma once

#include <torch/torch.h>

// Two convolutions, and a way around them.
struct Block : torch::nn::Module {
  Block(int64_t in, int64_t out, int64_t stride)
      : first(register_module("first", conv(in, out, 3, stride))),
        first_norm(register_module("first_norm", torch::nn::BatchNorm2d(out))),
        second(register_module("second", conv(out, out, 3, 1))),
        second_norm(register_module("second_norm", torch::nn::BatchNorm2d(out))) {
    if (stride == 1 && in == out) return;
    around = register_module(
        "around", torch::nn::Sequential(conv(in, out, 1, stride), torch::nn::BatchNorm2d(out)));
  }
  static torch::nn::Conv2d conv(int64_t in, int64_t out, int64_t size, int64_t stride) {
    return torch::nn::Conv2d(
        torch::nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor y = second_norm(second(torch::relu(first_norm(first(x)))));
    return torch::relu(y + (around ? around->forward(x) : x));
  }
  torch::nn::Conv2d first;
  torch::nn::BatchNorm2d first_norm;
  torch::nn::Conv2d second;
  torch::nn::BatchNorm2d second_norm;
  torch::nn::Sequential around{nullptr};
};

struct ResNet18 : torch::nn::Module {
  ResNet18() {
    layers->push_back(Block::conv(3, 64, 3, 1));
    layers->push_back(torch::nn::BatchNorm2d(64));
    layers->push_back(torch::nn::ReLU());
    int64_t in = 64;
    for (const int64_t out : {64, 128, 256, 512}) {
      layers->push_back(Block(in, out, out == 64 ? 1 : 2));
      layers->push_back(Block(out, out, 1));
      in = out;
    }
    layers->push_back(torch::nn::AdaptiveAvgPool2d(1));
    layers->push_back(torch::nn::Flatten());
    layers->push_back(torch::nn::Linear(512, 10));
    register_module("layers", layers);
  }
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers;
};
