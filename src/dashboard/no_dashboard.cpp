// What stands in for the page in builds without it; CMake chooses this file and says why.
#include "feroma/core/error.h"
#include "feroma/dashboard/dashboard.h"

namespace feroma {

class Dashboard::Parts {};

bool has_dashboard() { return false; }
std::string_view why_no_dashboard() { return FEROMA_NO_DASHBOARD; }

Dashboard::Dashboard(const DashboardOptions& /*options*/) {
  fail(ErrorCode::unsupported, "this build has no dashboard: {}", why_no_dashboard());
}
Dashboard::~Dashboard() = default;

int Dashboard::port() const { unreachable(); }
std::string Dashboard::url() const { unreachable(); }
const std::string& Dashboard::token() const { unreachable(); }

}  // namespace feroma
