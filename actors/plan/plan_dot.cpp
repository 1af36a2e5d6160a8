#include "troupe/actors/plan/plan_dot.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <set>
#include <tuple>

#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/text_stream.hpp"

namespace troupe {

namespace {

// ---- The picture: boxes and arrows

/// The role of an actor in the picture; see role_of().
enum class BoxRole { source, op, update, collective, conductor, sink, external };

/// A box of the picture: an actor, or the actors of a segment.
struct PictureBox {
  std::string name;
  std::vector<ActorId> actors;
  /// The replica whose frame the box lies in, or kNone.
  std::int32_t lane = kNone;
};

/// All edges from box `from` to box `to`, possibly the same box, that have initial tokens, or all that have none,
/// merged into one arrow.
struct PictureArrow {
  std::size_t from = 0, to = 0;  // indices in PlanPicture::boxes
  int edges = 0;
  std::int32_t initial_tokens = 0;
  std::int32_t capacity = 1;  // the largest capacity of the edges
  std::size_t bytes = 0;      // sum of one tensor of every edge
};

/// A plan as boxes and arrows, from which to_dot() writes the text.
struct PlanPicture {
  std::vector<PictureBox> boxes;
  std::vector<PictureArrow> arrows;  // sorted by `from`, then `to`, then those without tokens first
};

/// The role of an actor in the picture. An actor with Pacing::source counts as a source. An op that updates parameters
/// and an external actor that writes parameters count as updates.
BoxRole role_of(const PlanActor& actor) {
  if (actor.pacing == Pacing::source) return BoxRole::source;
  const auto& call = actor.task.call;
  if (call && call->op->kind == OpKind::update) return BoxRole::update;
  if (std::ranges::any_of(actor.parameters, &HeldParameter::written)) return BoxRole::update;
  constexpr BoxRole kOfActorRole[] = {BoxRole::op,         BoxRole::source,    BoxRole::sink,
                                      BoxRole::collective, BoxRole::conductor, BoxRole::external};
  return kOfActorRole[static_cast<std::size_t>(actor.role)];
}

/// True if the actor may serve several replicas.
bool may_be_shared(const PlanActor& actor) {
  return actor.role == ActorRole::conductor || actor.role == ActorRole::external;
}

std::vector<PictureBox> boxes_of(const Plan& plan, DotLevel level) {
  std::vector<PictureBox> boxes;
  if (level == DotLevel::actors) {
    for (std::size_t i = 0; i < plan.actors.size(); ++i)
      boxes.push_back({plan.actors[i].name, {static_cast<ActorId>(i)}});
    return boxes;
  }
  if (plan.segments.empty()) throw Error("plan", "has no segments to draw: group it by split, chain or fuse");
  for (const auto& segment : plan.segments) boxes.push_back({segment.name, segment.actors});
  return boxes;
}

/// For every actor: the replicas with which it exchanges messages. Neighbors that may themselves serve several replicas
/// do not count.
std::vector<std::set<int>> served_replicas(const Plan& plan) {
  std::vector<std::set<int>> served(plan.actors.size());
  const auto note = [&](ActorId id, ActorId neighbor) {
    const auto& other = plan.actors[neighbor];
    if (!may_be_shared(other)) served[id].insert(other.replica);
  };
  for (const auto& edge : plan.edges)
    for (const auto& consumer : edge.consumers) {
      note(edge.producer, consumer.actor);
      note(consumer.actor, edge.producer);
    }
  return served;
}

void place_in_lanes(std::vector<PictureBox>& boxes, const Plan& plan) {
  const auto served = served_replicas(plan);
  for (auto& box : boxes) {
    const auto first = box.actors.front();
    const auto& actor = plan.actors[first];
    if (!may_be_shared(actor) || served[first].size() < 2) box.lane = actor.replica;
  }
}

/// Merges the plan's edges into arrows. An edge from a box to the same box has an arrow only if it has initial tokens.
std::vector<PictureArrow> arrows_between(const std::vector<PictureBox>& boxes, const Plan& plan) {
  std::vector<std::size_t> box_of(plan.actors.size());
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (const auto id : boxes[i].actors) box_of[id] = i;
  std::map<std::tuple<std::size_t, std::size_t, bool>, PictureArrow> merged;
  for (const auto& edge : plan.edges) {
    const auto from = box_of[edge.producer];
    const bool has_tokens = edge.initial_tokens > 0;
    std::set<std::size_t> readers;
    for (const auto& consumer : edge.consumers) readers.insert(box_of[consumer.actor]);
    for (const auto to : readers) {
      if (to == from && !has_tokens) continue;
      auto& arrow = merged.try_emplace({from, to, has_tokens}, PictureArrow{from, to}).first->second;
      ++arrow.edges;
      arrow.initial_tokens += edge.initial_tokens;
      arrow.capacity = std::max(arrow.capacity, edge.capacity);
      arrow.bytes += bytes_of(edge.info, plan.max_rows);
    }
  }
  std::vector<PictureArrow> arrows;
  for (const auto& [ends, arrow] : merged) arrows.push_back(arrow);
  return arrows;
}

PlanPicture picture_of(const Plan& plan, const DotOptions& options) {
  PlanPicture picture{boxes_of(plan, options.level), {}};
  if (options.lanes == DotLanes::by_replica) place_in_lanes(picture.boxes, plan);
  picture.arrows = arrows_between(picture.boxes, plan);
  return picture;
}

// ---- The text for Graphviz

/// The names and colors of boxes, by BoxRole.
constexpr const char* kBoxNames[] = {"source", "op", "update", "collective", "conductor", "sink", "external actor"};
constexpr const char* kColors[] = {"#cfe8cf", "#dbe7f7", "#fbe0c3", "#e6d9f2", "#d3bfe8", "#e5e7eb", "#f8d7dd"};

constexpr const char* kHead = R"(digraph plan {
  rankdir=LR;
  newrank=true;
  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, color="#6b7280"];
  edge [fontname="Helvetica", fontsize=9, color="#6b7280"];
)";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result;
}

std::string bytes_text(std::size_t bytes) {
  constexpr std::size_t kKibi = 1024;
  if (bytes < kKibi) return std::to_string(bytes) + " B";
  const bool is_large = bytes >= kKibi * kKibi;
  TextStream out;
  out << std::fixed << std::setprecision(1)
      << static_cast<double>(bytes) / static_cast<double>(is_large ? kKibi * kKibi : kKibi)
      << (is_large ? " MiB" : " KiB");
  return out.str();
}

/// A dot for every token; for more than three tokens, one dot and the number of tokens.
std::string dots(std::int32_t tokens) {
  constexpr std::int32_t kMaxDots = 3;
  const std::string dot = "\u25cf";
  if (tokens > kMaxDots) return dot + "\u00d7" + std::to_string(tokens);
  std::string text;
  for (std::int32_t i = 0; i < tokens; ++i) text += dot;
  return text;
}

/// The label of an arrow, such as `● 4 edges, 1.2 KiB`.
std::string label_of(const PictureArrow& arrow) {
  auto label = dots(arrow.initial_tokens);
  const char* separator = label.empty() ? "" : " ";
  const auto add = [&](const std::string& part) {
    label += separator + part;
    separator = ", ";
  };
  if (arrow.edges > 1) add(std::to_string(arrow.edges) + " edges");
  if (arrow.bytes > 0) add(bytes_text(arrow.bytes));
  if (arrow.edges == 1 && arrow.capacity > 1) add(std::to_string(arrow.capacity) + " slots");
  return label;
}

class DotWriter {
 public:
  DotWriter(const Plan& plan, const DotOptions& options)
      : plan_(plan), picture_(picture_of(plan, options)), numbered_(options.numbered) {}

  std::string write() {
    out_ << kHead;
    write_lanes();
    write_rank([&](const PictureBox& box) { return has(box, BoxRole::source) && !has(box, BoxRole::update); });
    write_rank([&](const PictureBox& box) { return has(box, BoxRole::update); });
    for (std::size_t i = 0; i < picture_.arrows.size(); ++i) write_arrow(i);
    out_ << "}\n";
    return out_.str();
  }

 private:
  std::ptrdiff_t count(const PictureBox& box, BoxRole role) const {
    return std::ranges::count_if(box.actors, [&](ActorId id) { return role_of(plan_.actors[id]) == role; });
  }
  bool has(const PictureBox& box, BoxRole role) const { return count(box, role) > 0; }

  /// The role by which a box is colored: an update if any of its actors is an update, else an op if any is an op, else
  /// the role of its first actor.
  BoxRole role_of_box(const PictureBox& box) const {
    if (has(box, BoxRole::update)) return BoxRole::update;
    return has(box, BoxRole::op) ? BoxRole::op : role_of(plan_.actors[box.actors.front()]);
  }

  /// The number of actors of each role in a box, such as `1 source, 22 ops, 1 sink`.
  std::string contents(const PictureBox& box) const {
    std::string text;
    for (std::size_t role = 0; role < std::size(kBoxNames); ++role) {
      const auto actors = count(box, static_cast<BoxRole>(role));
      if (actors == 0) continue;
      text += (text.empty() ? "" : ", ") + std::to_string(actors) + " " + kBoxNames[role] + (actors > 1 ? "s" : "");
    }
    return text;
  }

  void write_lanes() {
    std::map<std::int32_t, std::vector<std::size_t>> lanes;
    for (std::size_t i = 0; i < picture_.boxes.size(); ++i) lanes[picture_.boxes[i].lane].push_back(i);
    for (const auto& [lane, boxes] : lanes) {
      const bool is_framed = lane != kNone;
      if (is_framed)
        out_ << "  subgraph cluster_" << lane << " {\n    label=\"replica " << lane
             << "\"; style=rounded; color=\"#9ca3af\"; fontname=\"Helvetica\"; fontsize=11;\n";
      for (const auto i : boxes) write_box(i, is_framed ? "    " : "  ");
      if (is_framed) out_ << "  }\n";
    }
  }

  void write_box(std::size_t i, const char* indent) {
    const auto& box = picture_.boxes[i];
    out_ << indent << "b" << i << " [label=\"" << escaped(box.name) << "\\n";
    if (box.actors.size() > 1) out_ << contents(box) << "\\n";
    out_ << to_string(plan_.actors[box.actors.front()].place) << "\", fillcolor=\""
         << kColors[static_cast<std::size_t>(role_of_box(box))] << "\"];\n";
  }

  /// Puts the boxes for which `choose` is true into one column.
  template <class Choose>
  void write_rank(Choose choose) {
    std::string names;
    for (std::size_t i = 0; i < picture_.boxes.size(); ++i)
      if (choose(picture_.boxes[i])) names += " b" + std::to_string(i) + ";";
    if (!names.empty()) out_ << "  { rank=same;" << names << " }\n";
  }

  /// Writes arrow i. An arrow with initial tokens leads to actors that fire in the next step, so it does not influence
  /// the order of boxes from left to right.
  void write_arrow(std::size_t i) {
    const auto& arrow = picture_.arrows[i];
    auto label = label_of(arrow);
    if (numbered_) label = std::to_string(i + 1) + (label.empty() ? "" : ": ") + label;
    out_ << "  b" << arrow.from << " -> b" << arrow.to << " [label=\"" << label << "\""
         << (arrow.initial_tokens > 0 ? ", constraint=false" : "") << (arrow.bytes == 0 ? ", style=dashed" : "")
         << "];\n";
  }

  const Plan& plan_;
  PlanPicture picture_;
  bool numbered_;
  TextStream out_;
};

}  // namespace

std::string to_dot(const Plan& plan, const DotOptions& options) {
  return DotWriter(plan, options).write();
}

}  // namespace troupe
