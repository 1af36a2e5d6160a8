#pragma once

#include <memory>
#include <utility>

#include "troupe/transport/communicator.hpp"

namespace troupe::testing {

/// Forwards to another rank's end of a group; tests override what they watch or break.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(std::shared_ptr<Communicator> real) : real_(std::move(real)) {}

  int size() const override { return real_->size(); }
  const std::vector<DeviceRank>& local() const override { return real_->local(); }
  std::shared_ptr<Work> begin(CollectiveKind kind, Parts parts, int root) override {
    return real_->begin(kind, parts, root);
  }
  std::shared_ptr<Work> send(const Tensor& tensor, int to, OnProgress on_progress) override {
    return real_->send(tensor, to, std::move(on_progress));
  }
  std::shared_ptr<Work> recv(const Tensor& tensor, int from, OnProgress on_progress) override {
    return real_->recv(tensor, from, std::move(on_progress));
  }
  void abort(FailurePtr failure) override { real_->abort(std::move(failure)); }
  void leave(FailurePtr failure) override { real_->leave(std::move(failure)); }
  FailurePtr failure() override { return real_->failure(); }
  void on_failed(OnFailed callback) override { real_->on_failed(std::move(callback)); }

 private:
  std::shared_ptr<Communicator> real_;
};

}  // namespace troupe::testing
