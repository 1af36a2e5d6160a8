#include "troupe/actors/ports/port_state.hpp"

#include <vector>

namespace troupe {

std::string state_of(const Ports& ports, std::size_t held) {
  std::vector<std::string> facts;
  for (std::uint32_t input = 0; input < ports.inputs(); ++input)
    if (!ports.has(input) && !ports.drained(input)) {
      const auto& wire = ports.input_wire(input);
      facts.push_back("no tensor of '" + wire.edge + "' from '" + wire.producer_name + "'");
    }
  for (std::uint32_t output = 0; output < ports.outputs(); ++output)
    if (ports.lost_output(output))
      facts.push_back("a lost consumer of '" + ports.output_wire(output).edge + "'");
    else if (!ports.has_free(output))
      facts.push_back("no free slot of '" + ports.output_wire(output).edge + "', because it " +
                      ports.awaited_credit(output));
  if (held > 0) facts.push_back(std::to_string(held) + " tensors that it has taken");
  if (facts.empty()) facts.emplace_back("a tensor at every input and a free slot of every output");
  std::string text = "fires by its own rule; it has ";
  for (std::size_t i = 0; i < facts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == facts.size() ? " and " : ", ") + facts[i];
  return text;
}

}  // namespace troupe
