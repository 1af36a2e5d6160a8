#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

OpCase reshape_case(const Shape& from, const Shape& to) {
  return {"reshape " + to_string(from) + " to " + to_string(to),
          {{from}},
          [to](const Values& x) { return Values{reshape(x[0], to)}; },
          reference::reshape(to.list()),
          0.0};
}

/// Packs parts into a block and returns views of them in the block.
Values unpack(const Values& parts) {
  std::vector<TensorInfo> infos;
  for (const auto& part : parts) infos.push_back(part.info());
  const auto offsets = pack_offsets(infos);
  const auto block = pack(parts);
  Values result;
  for (std::size_t i = 0; i < parts.size(); ++i) result.push_back(view_at(block, offsets[i], parts[i].shape()));
  return result;
}

Values pack_inputs(const Values& x) {
  return unpack(x);
}

/// A pack of computed parts, which can be computed in their places in the block.
Values pack_results(const Values& x) {
  Values parts;
  for (const auto& value : x) parts.push_back(scale(value, 1.0));
  return unpack(parts);
}

/// A pack of an input, a computed part, an input and the same computed part again.
Values pack_twice(const Values& x) {
  const auto computed = scale(x[1], 1.0);
  return unpack({x[0], computed, x[2], computed});
}

Values pack_of_pack(const Values& x) {
  const auto inner = unpack({scale(x[0], 1.0), scale(x[1], 1.0)});
  return unpack({inner[0], inner[1], scale(x[2], 1.0)});
}

/// A pack of views of one computed value, which another op reads, too.
Values pack_slices(const Values& x) {
  const auto whole = scale(x[0], 1.0);
  const auto parts = unpack({view_at(whole, 1, {3}), view_at(whole, 0, {20}), scale(x[1], 1.0)});
  return {parts[0], parts[1], parts[2], scale(whole, 1.0)};
}

Arrays reference_slices(const Arrays& in) {
  const auto cut = [&](std::int64_t offset, std::int64_t size) {
    return reference::view_at(offset, {size}).forward(in)[0];
  };
  return {cut(1, 3), cut(0, 20), in[1], in[0]};
}

OpCase pack_case(const std::string& name, Values (*build)(const Values&), std::vector<CaseInput> inputs) {
  for (auto& input : inputs) input.differentiable = false;
  return {name, std::move(inputs), build, {reference::identity().forward, nullptr}, 0.0};
}

}  // namespace

std::vector<OpCase> view_cases() {
  std::vector<OpCase> cases{
      reshape_case({kBatch, 6}, {kBatch, 2, 3}),
      reshape_case({kBatch}, {kBatch, 1}),
      reshape_case({kBatch, 1, 4}, {kBatch, 4}),
      reshape_case({4, 3}, {2, 6}),
      reshape_case({1}, {}),
      reshape_case({2, 0}, {0, 7}),
  };
  cases.push_back({"flatten",
                   {{{kBatch, 2, 3, 4}}},
                   [](const Values& x) { return Values{flatten(x[0])}; },
                   reference::reshape({kBatch, 24}),
                   0.0});
  cases.push_back({"flatten of a reshaped sum",
                   {{{kBatch, 6}}},
                   [](const Values& x) {
                     return Values{flatten(reshape(scale(x[0], 2.0), {kBatch, 3, 2}))};
                   },
                   reference::scale(2.0)});
  for (const std::int64_t offset : {0, 3, 6})
    cases.push_back({"slice from " + std::to_string(offset),
                     {{{3, 4}, Draw::uniform, false}},
                     [offset](const Values& x) {
                       return Values{view_at(x[0], offset, {2, 3})};
                     },
                     reference::view_at(offset, {2, 3}),
                     0.0});
  const std::vector<CaseInput> shapes{{{5}}, {{16}}, {{3, 7}}, {{}}, {{17, 1}}};
  cases.push_back(pack_case("pack of inputs", pack_inputs, shapes));
  cases.push_back(pack_case("pack of results", pack_results, shapes));
  cases.push_back(pack_case("pack of one", pack_results, {{{3}}}));
  cases.push_back(pack_case("pack with a part of no elements", pack_results, {{{3}}, {{0}}, {{2}}}));
  cases.push_back(pack_case("pack of parts of a pack", pack_of_pack, {{{5}}, {{18}}, {{2, 2}}}));
  cases.push_back(pack_case("pack of one result twice", pack_twice, {{{5}}, {{18}}, {{2, 2}}}));
  cases.back().reference.forward = [](const Arrays& in) { return Arrays{in[0], in[1], in[2], in[1]}; };
  cases.push_back(pack_case("pack of slices", pack_slices, {{{40}}, {{9}}}));
  cases.back().reference.forward = reference_slices;
  return cases;
}

}  // namespace troupe::ops_test
