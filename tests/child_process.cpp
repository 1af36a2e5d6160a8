#include "troupe/tests/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe::testing {

namespace {

[[noreturn]] void run_again(const std::vector<std::string>& arguments, int standard_error) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(standard_error, STDERR_FILENO);
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  _exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("child", "the kernel makes no pipe");
  pid_ = fork();
  if (pid_ == 0) run_again(arguments, ends[1]);
  close(ends[1]);
  output_ = ends[0];
  fcntl(output_, F_SETFL, O_NONBLOCK);
  if (pid_ > 0) return;
  close(output_);
  throw Error("child", "the kernel makes no process");
}

ChildProcess::~ChildProcess() {
  if (output_ < 0) return;
  signal(SIGKILL);
  if (!ended_) waitpid(pid_, nullptr, 0);
  close(output_);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_),
      output_(std::exchange(other.output_, -1)),
      text_(std::move(other.text_)),
      status_(other.status_),
      ended_(other.ended_),
      stopped_(other.stopped_),
      ended_at_(other.ended_at_) {}

void ChildProcess::signal(int number) const {
  if (!ended_) kill(pid_, number);
}

void ChildProcess::look() {
  read_text();
  if (ended_) return;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG | WUNTRACED) != pid_) return;
  ended_at_ = Clock::now();
  stopped_ = WIFSTOPPED(status);
  if (stopped_) return;
  ended_ = true;
  status_ = status;
  read_text();
}

void ChildProcess::read_text() {
  std::array<char, 4096> bytes;
  for (ssize_t count = 0; (count = read(output_, bytes.data(), bytes.size())) > 0;)
    text_.append(bytes.data(), static_cast<std::size_t>(count));
}

void wait_for_output(const std::vector<ChildProcess>& processes, std::chrono::milliseconds limit) {
  std::vector<pollfd> outputs;
  for (const auto& process : processes)
    if (!process.ended()) outputs.push_back({process.output_, POLLIN, 0});
  poll(outputs.data(), outputs.size(), static_cast<int>(limit.count()));
}

}  // namespace troupe::testing
