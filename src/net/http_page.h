#pragma once

#include <functional>
#include <memory>
#include <string>

#include "feroma/net/server_status.h"

namespace feroma::net {

/**
 * Shows a server's status over HTTP: GET /metrics and GET /healthz, on threads of its own. Whoever reaches the address
 * may read them. A request has little time and room, and a few at a time are answered; the others wait.
 */
class HttpPage {
 public:
  /// Listens at `address`, host and port; port 0 takes a free one. `status` is called from several threads. An
  /// `unsupported` error where this build has no HTTP.
  HttpPage(const std::string& address, std::function<ServerStatus()> status);
  /// Lets requests that are being answered end.
  ~HttpPage();
  HttpPage(const HttpPage&) = delete;
  HttpPage& operator=(const HttpPage&) = delete;

  [[nodiscard]] int port() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace feroma::net
