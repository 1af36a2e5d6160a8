#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/transport/job/settings.hpp"
#include "troupe/transport/job/launcher_variables.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A message with a descriptor, for sendmsg() and recvmsg().
struct DescriptorMessage {
  DescriptorMessage() {
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
};

/// Sends a descriptor over a Unix socket.
void send_descriptor(int socket, int descriptor) {
  DescriptorMessage message;
  auto* const control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  (void)!sendmsg(socket, &message.header, 0);
}

/// Returns the descriptor of send_descriptor(), or -1.
int received_descriptor(int socket) {
  DescriptorMessage message;
  int descriptor = -1;
  if (recvmsg(socket, &message.header, 0) == 1 && CMSG_FIRSTHDR(&message.header) != nullptr)
    std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof descriptor);
  return descriptor;
}

/// Variables of Open MPI and of Slurm for a single process.
const Settings kAlone{{"OMPI_COMM_WORLD_RANK", "0"},       {"OMPI_COMM_WORLD_SIZE", "1"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                      {"OMPI_COMM_WORLD_NODE_RANK", "0"},  {"PMIX_RANK", "0"}};
const Settings kOneTask{{"SLURM_PROCID", "0"},         {"SLURM_STEP_NUM_TASKS", "1"},
                        {"SLURM_STEP_NODELIST", "n1"}, {"SLURM_STEP_TASKS_PER_NODE", "1"},
                        {"SLURM_NODEID", "0"},         {"SLURM_LOCALID", "0"}};

struct Accepted {
  std::string what;
  Settings settings;
  int rank, world_size, local_rank, local_size;
  std::string rendezvous, source;
};

struct Refused {
  Settings settings;
  std::string text;
};

}  // namespace

TEST_CASE("every launcher's variables say who this process is and where the ranks meet") {
  const std::string task = R"(,"task":{"type":"worker","index":1}})";
  const auto row = GENERATE_COPY(values<Accepted>(
      {{"no variables", {}, 0, 1, -1, -1, "", "single process"},
       {"torchrun", kTorchrun, 3, 4, 1, 2, "node7:29500", "torchrun"},
       {"torchrun whose agent holds the port", with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}), 3, 4, 1, 2,
        "node7:29501", "torchrun"},
       {"torchrun whose agent holds the last port",
        with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"MASTER_PORT", "65535"}}), 3, 4, 1, 2,
        "node7:65534", "torchrun"},
       {"RANK left over beside another launcher's variables", with(kOpenMpi, {{"RANK", "7"}}), 1, 2, 1, 2,
        "*127.0.0.1:", "Open MPI"},
       {"Open MPI across machines, with an address passed on",
        with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "5"}}), 1, 4, 1, 2, "a:5",
        "Open MPI"},
       {"Slurm", kSlurm, 5, 7, 1, 2, "*gnode10:", "Slurm"},
       {"Slurm on one node",
        with(kSlurm, {{"SLURM_STEP_NODELIST", "n1"}, {"SLURM_STEP_TASKS_PER_NODE", "7"}, {"SLURM_NODEID", "0"}}), 5, 7,
        1, 7, "*127.0.0.1:", "Slurm"},
       {"Slurm, a step of a part of the job",
        with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1(x2)"}}), 5, 6, 1, 1,
        "*gnode10:", "Slurm"},
       {"a program in a batch script of Slurm is alone", with(kSlurm, {{"SLURM_STEP_ID", "4294967291"}}), 0, 1, -1, -1,
        "", "single process"},
       {"mpirun in a batch script of Slurm", with(kSlurm, with(kOpenMpi, {{"SLURM_STEP_ID", "-"}})), 1, 2, 1, 2, "*",
        "Open MPI"},
       {"Open MPI", kOpenMpi, 1, 2, 1, 2, "*127.0.0.1:", "Open MPI"},
       {"PMI", kPmi, 0, 3, 0, 3, "*127.0.0.1:", "PMI"},
       {"Horovod", kHorovod, 1, 2, 1, 2, "*127.0.0.1:", "Horovod"},
       {"PyTorchJob", with(kRank, {{"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "1"}}), 1, 2, -1, -1, "10.0.0.1:3000",
        "RANK"},
       {"TF_CONFIG of a worker", tf_config("{" + kCluster + task), 2, 3, -1, -1, "c:1", "TF_CONFIG"},
       {"TF_CONFIG of the chief", tf_config("{" + kCluster + R"(,"task":{"type":"chief","index":0}})"), 0, 3, -1, -1,
        "c:1", "TF_CONFIG"},
       {"TF_CONFIG without a chief, index as text",
        tf_config(R"({"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":"1"}})"), 1, 2, -1, -1, "a:1",
        "TF_CONFIG"},
       {"TF_CONFIG with workers as a map",
        tf_config(R"({"cluster":{"worker":{"0":"a:1","1":"b:2"}},"task":{"type":"worker","index":0}})"), 0, 2, -1, -1,
        "a:1", "TF_CONFIG"},
       {"TF_CONFIG without a cluster", tf_config(R"({"task":{"type":"worker","index":0}})"), 0, 1, -1, -1, "",
        "single process"},
       {"torchrun whose agents mpirun has started",
        with(kTorchrun, with(kOpenMpi, {{"GROUP_RANK", "1"}, {"GROUP_WORLD_SIZE", "2"}})), 3, 4, 1, 2, "node7:29500",
        "torchrun"},
       {"mpirun of one process in a step of Slurm", with(kSlurm, with(kOpenMpi, kAlone)), 0, 1, 0, 1, "*", "Open MPI"},
       {"torchrun and TF_CONFIG that agree",
        with(kTorchrun, {{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"TF_CONFIG", "{" + kCluster + task}}), 2, 3, -1, -1,
        "c:1", "TF_CONFIG"}}));
  INFO(row.what);
  const auto job = resolve(row.settings);
  CHECK(job.rank == row.rank);
  CHECK(job.world_size == row.world_size);
  CHECK(job.local_rank == row.local_rank);
  CHECK(job.local_size == row.local_size);
  CHECK(job.source == row.source);
  if (row.rendezvous.starts_with("*"))
    CHECK(job.rendezvous.starts_with(row.rendezvous.substr(1)));
  else
    CHECK(job.rendezvous == row.rendezvous);
}

TEST_CASE("malformed and contradicting variables are refused with name and value") {
  const std::string task = R"(,"task":{"type":"worker","index":1}})";
  const auto row = GENERATE_COPY(values<Refused>(
      {{with(kTorchrun, {{"RANK", "x"}}), "RANK='x'"},
       {with(kTorchrun, {{"RANK", ""}}), "RANK=''"},
       {with(kTorchrun, {{"RANK", "-1"}}), "RANK='-1'"},
       {with(kTorchrun, {{"RANK", "3 "}}), "RANK='3 '"},
       {with(kTorchrun, {{"RANK", "99999999999999999999"}}), "RANK='99999999999999999999'"},
       {with(kTorchrun, {{"RANK", "4"}}), "RANK='4': there are only 4 ranks (WORLD_SIZE)"},
       {with(kTorchrun, {{"RANK", "-"}}), "torchrun has set some of its variables, but not RANK"},
       {with(kTorchrun, {{"WORLD_SIZE", "0"}}), "WORLD_SIZE='0'"},
       {with(kTorchrun, {{"LOCAL_RANK", "2"}}), "LOCAL_RANK='2'"},
       {with(kTorchrun, {{"MASTER_PORT", "70000"}}), "MASTER_PORT='70000'"},
       {with(kTorchrun, {{"MASTER_PORT", "http"}}), "MASTER_PORT='http'"},
       {with(kTorchrun, {{"MASTER_ADDR", "-"}}), "but not where the ranks meet"},
       {with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "-"}}), "but not OMPI_COMM_WORLD_RANK"},
       {with(kOpenMpi, {{"PMIX_RANK", "0"}}), "OMPI_COMM_WORLD_RANK='1' contradicts it"},
       {with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}), "but not where the ranks meet"},
       {with(kPmi, {{"PMI_SIZE", "-"}}), "but not PMI_SIZE"},
       {with(kPmi, {{"PMI_RANK", "3"}}), "PMI_RANK='3'"},
       {with(kSlurm, {{"SLURM_STEP_NODELIST", "gnode[10,20"}}), "its brackets do not match"},
       {with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "2(x3)"}}), "SLURM_STEP_NODELIST='gnode[10,20-22]'"},
       {with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "2(x3"}}), "does not end with )"},
       {with(kSlurm, {{"SLURM_NODEID", "9"}}), "SLURM_NODEID=9"},
       {with(kSlurm, {{"SLURM_PROCID", "7"}}), "SLURM_PROCID='7'"},
       {with(kHorovod, {{"HOROVOD_RANK", "two"}}), "HOROVOD_RANK='two'"},
       {with(kRank, {{"PET_NPROC_PER_NODE", "2"}}), "PET_NPROC_PER_NODE='2'"},
       {with(kRank, {{"WORLD_SIZE", "-"}}), "RANK='1': WORLD_SIZE is missing"},
       {with(kRank, {{"RANK", "-"}}), "WORLD_SIZE='2': RANK is missing"},
       {{{"OMPI_COMM_WORLD_RANK", "0"}}, "OMPI_COMM_WORLD_RANK='0': OMPI_COMM_WORLD_SIZE is missing"},
       {{{"JSM_NAMESPACE_RANK", "0"}}, "JSM_NAMESPACE_RANK='0': JSM_NAMESPACE_SIZE is missing"},
       {{{"HOROVOD_RANK", "0"}}, "HOROVOD_RANK='0': HOROVOD_SIZE is missing"},
       {with(kSlurm, {{"SLURM_PROCID", "-"}}), "Slurm has set some of its variables, but not SLURM_PROCID"},
       {{{"JSM_NAMESPACE_SIZE", "2"},
         {"JSM_NAMESPACE_RANK", "0"},
         {"LSB_JOBID", "1"},
         {"LSB_DJOB_RANKFILE", "/nowhere"}},
        "LSB_DJOB_RANKFILE='/nowhere'"},
       {tf_config("{"), "TF_CONFIG='{'"},
       {tf_config("[]"), "TF_CONFIG='[]'"},
       {tf_config("{" + kCluster + "}"), "task"},
       {tf_config("{" + kCluster + R"(,"task":{"type":"worker","index":2}})"), "none with index 2"},
       {tf_config("{" + kCluster + R"(,"task":{"type":"worker","index":-1}})"), "none with index -1"},
       {tf_config("{" + kCluster + R"(,"task":{"type":"worker","index":1.9}})"), "the index of the task is 1.9"},
       {tf_config("{" + kCluster + R"(,"task":{"type":"worker","index":true}})"), "the index of the task is true"},
       {tf_config("{" + kCluster + R"(,"task":{"type":"ps","index":0}})"),
        "it names 0 of type ps, so there is none with index 0"},
       {tf_config("{" + kCluster + R"(,"task":{"type":"tpu","index":0}})"), "there are no tasks of type 'tpu'"},
       {tf_config(R"({"cluster":{"chief":["a:1","b:1"]},"task":{"type":"chief","index":0}})"), "2 chiefs"},
       {tf_config(R"({"cluster":{"worker":{"1":"a:1"}},"task":{"type":"worker","index":1}})"), "none with index 0"},
       {tf_config(R"({"cluster":{"worker":"a:1"},"task":{"type":"worker","index":0}})"), "must list addresses"},
       {tf_config(R"({"cluster":{"worker":["a","b"]},"task":{"type":"worker","index":0}})"), "'a' is not host:port"},
       {with(kSlurm, with(kRank, kOneTask)), "the variables of Slurm say rank 0 of 1, those of RANK say rank 1 of 2"},
       {with(kSlurm, with(kHorovod, kOneTask)), "Slurm say rank 0 of 1, those of Horovod say rank 1 of 2"},
       {with(kOpenMpi, with(kRank, kAlone)), "Open MPI say rank 0 of 1, those of RANK say rank 1 of 2"},
       {with(kSlurm, with(kOneTask, {{"RANK", "1"}})), "RANK='1': WORLD_SIZE is missing"},
       {{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}}, "SLURM_PROCID='1': SLURM_STEP_ID is missing"},
       {with(kTorchrun, tf_config("{" + kCluster + task)),
        "TF_CONFIG say rank 2 of 3, those of torchrun say rank 3 of 4"}}));
  INFO(row.text);
  CHECK_THROWS_WITH(resolve(row.settings), Contains("[cluster]") && Contains(row.text));
}

TEST_CASE("two jobs that Hydra's proxies have started on one machine have addresses and run ids of their own") {
  // Each end of a socket pair names the process that has made the pair, here this one.
  std::array<int, 2> ends{}, others{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const auto rank = [&](int descriptor, int number) {
    return resolve(with(kPmi, {{"PMI_FD", std::to_string(descriptor)}, {"PMI_RANK", std::to_string(number)}}));
  };
  const auto first = rank(ends[0], 0), second = rank(ends[1], 1);
  CHECK_FALSE(first.run_id.empty());
  CHECK(first.run_id == second.run_id);
  CHECK(first.rendezvous == second.rendezvous);
  // Another process makes the pair of the other job.
  std::array<int, 2> channel{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, channel.data()) == 0);
  const auto child = fork();
  if (child == 0) {
    (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, others.data());
    send_descriptor(channel[1], others[0]);
    _exit(0);
  }
  others[0] = received_descriptor(channel[0]);
  REQUIRE(others[0] >= 0);
  const auto other = rank(others[0], 0);
  CHECK(other.run_id != first.run_id);
  CHECK(other.rendezvous != first.rendezvous);
  for (const auto descriptor : {ends[0], ends[1], others[0], channel[0], channel[1]}) close(descriptor);
  waitpid(child, nullptr, 0);
}

TEST_CASE("LSF's rank file gives the host of rank 0") {
  const auto path = std::filesystem::temp_directory_path() / ("ranks-" + std::to_string(getpid()));
  std::ofstream(path) << "batch3\ncompute1\n";
  const auto job = resolve({{"JSM_NAMESPACE_SIZE", "2"},
                            {"JSM_NAMESPACE_RANK", "1"},
                            {"JSM_NAMESPACE_LOCAL_RANK", "0"},
                            {"LSB_JOBID", "99"},
                            {"LSB_DJOB_RANKFILE", path.string()}});
  std::filesystem::remove(path);
  CHECK(job.rank == 1);
  CHECK(job.rendezvous.starts_with("batch3:"));
  CHECK(job.run_id == "99.");
}
