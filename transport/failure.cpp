#include "troupe/transport/failure.hpp"

#include <array>

namespace troupe {

std::string to_string(FailureKind kind) {
  constexpr std::array kKinds{"op_error", "actor_died", "part_died", "stalled", "aborted"};
  return kKinds.at(static_cast<std::size_t>(kind));
}

std::string to_string(const Failure& failure) {
  const auto& who = failure.op.empty() ? failure.actor : failure.op;
  // A stall, or the loss of a process, is nobody's op or step: the text says who.
  if (who.empty() || failure.kind == FailureKind::stalled || failure.kind == FailureKind::part_died)
    return failure.what;
  const auto rank = failure.rank < 0 ? std::string() : ", rank " + std::to_string(failure.rank);
  return failure.what + " (op " + who + ", step " + std::to_string(failure.step) + ", replica " +
         std::to_string(failure.replica) + rank + ")";
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text;
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

FailurePtr current_failure(Failure origin) {
  origin.what = text_of(std::current_exception());
  return std::make_shared<const Failure>(std::move(origin));
}

FailurePtr failure_of_process(int process, std::string text, FailurePtr cause) {
  return std::make_shared<const Failure>(Failure{.rank = process,
                                                 .actor = "process " + std::to_string(process),
                                                 .kind = FailureKind::part_died,
                                                 .what = std::move(text),
                                                 .cause = std::move(cause)});
}

Aborted::Aborted(FailurePtr failure) : Error("aborted", to_string(*failure)), failure_(std::move(failure)) {}

}  // namespace troupe
