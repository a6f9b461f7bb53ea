#pragma once

/**
 * What a program outside this tree needs to add an algorithm and to run it beside the built-in ones; every other header
 * can be included alone. docs/add-an-algorithm.md explains it by an example.
 */
#include "feroma/aggregation/mix.h"
#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"
#include "feroma/algorithms/registry.h"
#include "feroma/core/error.h"
#include "feroma/report/console.h"
#include "feroma/runtime/run.h"
