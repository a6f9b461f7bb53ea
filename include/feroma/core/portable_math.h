#pragma once

namespace feroma {

/**
 * Functions whose bits do not depend on the C library: every machine with fused multiply-adds computes the same. Use
 * them wherever the result reaches a model, a profile or a choice between models. Within four units in the last place;
 * the cosine for angles of a few turns.
 */
[[nodiscard]] double portable_exp(double x);
[[nodiscard]] double portable_log(double x);
[[nodiscard]] double portable_cos(double x);

}  // namespace feroma
