#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace troupe::testing {

/// A process that runs the program of this process with other arguments. Its standard error is read. It is killed when
/// the object or this process ends.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts the process; `arguments` begins with the name of the program. Throws Error if the kernel refuses.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  /// The text that the process had written to its standard error when look() was called.
  const std::string& text() const { return text_; }
  bool ended() const { return ended_; }
  bool stopped() const { return stopped_; }
  /// The status of waitpid(), and the time at which look() saw that the process had ended or was stopped.
  int status() const { return status_; }
  Clock::time_point ended_at() const { return ended_at_; }

  /// Reads the text that the process has written, and its state. Does not wait.
  void look();
  void signal(int number) const;

 private:
  friend void wait_for_output(const std::vector<ChildProcess>& processes, std::chrono::milliseconds limit);
  void read_text();

  pid_t pid_ = -1;
  int output_ = -1;
  std::string text_;
  int status_ = 0;
  bool ended_ = false, stopped_ = false;
  Clock::time_point ended_at_;
};

/// Waits until a process writes to its standard error or closes it, at most for `limit`.
void wait_for_output(const std::vector<ChildProcess>& processes, std::chrono::milliseconds limit);

}  // namespace troupe::testing
