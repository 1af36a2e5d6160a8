#pragma once

#include <memory>
#include <utility>

#include "troupe/transport/communicator.hpp"

namespace troupe::testing {

/// Does what another rank's end of a group does; tests override what they watch or break.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(std::shared_ptr<Communicator> real) : real_(std::move(real)) {}

  int rank() const override { return real_->rank(); }
  int size() const override { return real_->size(); }
  std::unique_ptr<Work> all_reduce(const Tensor& tensor, OnProgress on_progress) override {
    return real_->all_reduce(tensor, std::move(on_progress));
  }
  std::unique_ptr<Work> broadcast(const Tensor& tensor, int root, OnProgress on_progress) override {
    return real_->broadcast(tensor, root, std::move(on_progress));
  }
  std::unique_ptr<Work> all_gather(const Tensor& input, const Tensor& output, OnProgress on_progress) override {
    return real_->all_gather(input, output, std::move(on_progress));
  }
  std::unique_ptr<Work> reduce_scatter(const Tensor& input, const Tensor& output, OnProgress on_progress) override {
    return real_->reduce_scatter(input, output, std::move(on_progress));
  }
  std::unique_ptr<Work> barrier(OnProgress on_progress) override { return real_->barrier(std::move(on_progress)); }
  std::unique_ptr<Work> send(const Tensor& tensor, int to, OnProgress on_progress) override {
    return real_->send(tensor, to, std::move(on_progress));
  }
  std::unique_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    return real_->recv(tensor, from, std::move(on_progress));
  }
  void abort(FailurePtr failure) override { real_->abort(std::move(failure)); }
  void leave(FailurePtr failure) override { real_->leave(std::move(failure)); }

 private:
  std::shared_ptr<Communicator> real_;
};

}  // namespace troupe::testing
