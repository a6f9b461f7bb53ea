#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/probe.h"
#include "feroma/bench/requirements.h"

namespace feroma::detail {

/// R1: the paper's own table, |profile distance - distance of the data|, at one level of P(Y|X).
void measure_published_fidelity(Probe& paper, std::string_view level, Requirement& r1);
/// R1: whether profile distances rank pairs as the data do, and tell same from different. R5: what shorter profiles
/// would lose of that.
void measure_fidelity(Probe& probe, std::string_view shift, Requirement& r1, Requirement& r5);
/// R2: the label-free prefix, bit for bit, with other labels and with none.
void measure_label_free(Probe& probe, std::string_view preset, Requirement& r2);
/// R3: the covariance that Monte-Carlo subsampling gives one client's profile, and its bounds.
void measure_covariance(Probe& paper, int repeats, Requirement& r3);
/// R3: how often a client whose data did not change is found again by its profile.
void measure_recognition(Probe& probe, std::string_view preset, Requirement& r3);
/// R4: what can be computed exactly.
void measure_privacy(Requirement& r4);
/// R5: how long profiles are beside models.
void measure_lengths(Requirement& r5);
/// R5: what extraction takes of a whole run; plays the run to its end.
void measure_extraction_time(Probe& probe, Requirement& r5);

}  // namespace feroma::detail
