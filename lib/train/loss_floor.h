#pragma once

namespace attn {

/// Is a mean loss, in nats over every sequence of a task, lower than any model can reach that sees
/// only the past? Then it sees what it should predict. `floor` is DataSource::loss_floor(), where
/// it is exact.
bool passes_floor(double loss, double floor);

}  // namespace attn
