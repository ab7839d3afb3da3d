// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/failed_connection.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Connection = std::unique_ptr<SSL, decltype(&SSL_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort Split(const Address& address) {
  const size_t colon = address.target.rfind(':');
  absl::string_view host = absl::string_view(address.target).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return {std::string(host), address.target.substr(colon + 1)};
}

std::string Option(const Address& address, const char* name) {
  const auto found = address.options.find(name);
  return found == address.options.end() ? std::string() : found->second;
}

absl::Status NoConnection(const Address& address, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("no connection with ", address.text, ": ", why));
}

void LimitWaits(int socket, absl::Duration limit) {
  const timeval time = absl::ToTimeval(limit);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

std::string ReasonOf(int error, const Address& address, absl::Duration limit) {
  if (error == ECONNREFUSED) {
    return "no daemon listens at this port; `holdfastd --listen=` says where "
           "one does";
  }
  if (error == EINPROGRESS || error == EAGAIN || error == ETIMEDOUT) {
    return absl::StrCat(Split(address).host, " does not answer within ",
                        absl::FormatDuration(limit),
                        "; a firewall may drop what is sent to this port");
  }
  return std::strerror(error);
}

absl::StatusOr<UniqueFd> ConnectSocket(const Address& address,
                                       absl::Duration limit) {
  const HostAndPort where = Split(address);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(where.host.c_str(), where.port.c_str(), &hints, &found);
  if (failed != 0) {
    return NoConnection(address,
                        absl::StrCat("the host ", where.host,
                                     " is not known: ", gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found,
                                                               freeaddrinfo);
  int error = ECONNREFUSED;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    UniqueFd socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.valid()) {
      LimitWaits(socket.get(), limit);
      if (connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) {
        return socket;
      }
    }
    error = errno;
  }
  return NoConnection(address, ReasonOf(error, address, limit));
}

// The names that a certificate is for: "localhost", "10.0.0.7".
std::vector<std::string> NamesOf(X509* certificate) {
  std::vector<std::string> names;
  auto* const all = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all, i);
    const ASN1_STRING* const text = name->d.ia5;
    const auto* const data =
        reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
    const auto size = static_cast<size_t>(ASN1_STRING_length(text));
    if (name->type == GEN_DNS) names.emplace_back(data, size);
    if (name->type == GEN_IPADD) {
      const std::unique_ptr<char, void (*)(char*)> shown(
          i2s_ASN1_OCTET_STRING(nullptr, name->d.iPAddress),
          [](char* s) { OPENSSL_free(s); });
      names.push_back(size == 4
                          ? absl::StrCat(static_cast<uint8_t>(data[0]), ".",
                                         static_cast<uint8_t>(data[1]), ".",
                                         static_cast<uint8_t>(data[2]), ".",
                                         static_cast<uint8_t>(data[3]))
                          : std::string(shown.get()));
    }
  }
  GENERAL_NAMES_free(all);
  return names;
}

// As gRPC has it: the subject counts only where no name is listed.
bool IsFor(X509* certificate, const std::string& name) {
  const unsigned flags =
      NamesOf(certificate).empty() ? 0 : X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  return X509_check_host(certificate, name.c_str(), name.size(), flags,
                         nullptr) == 1 ||
         X509_check_ip_asc(certificate, name.c_str(), 0) == 1;
}

// The certificate of a chain at which its verification stopped.
struct FaultyCertificate {
  std::string subject;
  bool of_daemon = true;  // else of an authority
  bool trusted = false;   // the last of the chain, which is in ca=FILE
};

// Notes the certificate in the FaultyCertificate of the connection.
int NoteFault(int ok, X509_STORE_CTX* verification) {
  auto* const ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(
      verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const fault = static_cast<FaultyCertificate*>(SSL_get_app_data(ssl));
  X509* const certificate = X509_STORE_CTX_get_current_cert(verification);
  if (ok != 0 || fault == nullptr || certificate == nullptr) return ok;
  const int depth = X509_STORE_CTX_get_error_depth(verification);
  const std::unique_ptr<char, void (*)(char*)> name(
      X509_NAME_oneline(X509_get_subject_name(certificate), nullptr, 0),
      [](char* s) { OPENSSL_free(s); });
  fault->subject = name == nullptr ? "" : name.get();
  fault->of_daemon = depth == 0;
  fault->trusted =
      depth + 1 == sk_X509_num(X509_STORE_CTX_get0_chain(verification));
  return ok;
}

// "the authority /CN=Holdfast authority in ca=FILE".
std::string NameOf(const FaultyCertificate& fault, const std::string& ca) {
  if (fault.of_daemon) return "the daemon's certificate";
  const std::string name = absl::StrCat("the authority ", fault.subject);
  if (!fault.trusted) {
    return absl::StrCat(name, ", whose certificate the daemon sends");
  }
  return ca.empty() ? absl::StrCat(name, ", which this machine knows")
                    : absl::StrCat(name, " in ca=", ca);
}

// Returns the fault of the other side's certificate; empty: there is none.
std::string FaultOfCertificate(const Address& address,
                               const FaultyCertificate& fault, SSL* ssl) {
  const Certificate certificate(SSL_get1_peer_certificate(ssl), X509_free);
  const long result = SSL_get_verify_result(ssl);
  const std::string ca = Option(address, "ca");
  if (result == X509_V_ERR_CERT_HAS_EXPIRED ||
      result == X509_V_ERR_CERT_NOT_YET_VALID) {
    return absl::StrCat(NameOf(fault, ca), ": ",
                        X509_verify_cert_error_string(result));
  }
  if (result != X509_V_OK && ca.empty()) {
    return "the daemon's certificate is not signed by an authority that this "
           "machine knows: ca=FILE names the one that has signed it";
  }
  if (result != X509_V_OK) {
    return absl::StrCat("the daemon's certificate is not signed by ca=", ca,
                        ": ", X509_verify_cert_error_string(result));
  }
  const std::string given = Option(address, "name");
  const std::string wanted = given.empty() ? Split(address).host : given;
  if (certificate == nullptr || IsFor(certificate.get(), wanted)) return "";
  const std::vector<std::string> names = NamesOf(certificate.get());
  if (names.empty()) {
    return absl::StrCat("the daemon's certificate has no name that is ", wanted,
                        ": it needs a subjectAltName");
  }
  return absl::StrCat("the daemon's certificate is for ",
                      absl::StrJoin(names, ", "), ", not for ", wanted,
                      ": name=", names.front(), " says so");
}

// Notes, in the bool `asked`, that the other side asks for a certificate.
int NoteQuestion(SSL* /*ssl*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 1;
}

// Why the other side, which has asked for this one's certificate, has ended the
// connection. gRPC does not tell it why: the time is compared here.
std::string FaultOfOwnCertificate(const Address& address, SSL* ssl) {
  const std::string cert = Option(address, "cert");
  const X509* const own = SSL_get_certificate(ssl);
  if (cert.empty() || own == nullptr) {
    return "the daemon wants a certificate of its clients: cert=FILE and "
           "key=FILE name yours";
  }
  if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
    return absl::StrCat("cert=", cert, " has expired");
  }
  if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0) {
    return absl::StrCat("cert=", cert, " is not valid yet");
  }
  return absl::StrCat("the daemon does not accept cert=", cert,
                      ": its --tls-client-ca has not signed it, or has "
                      "expired");
}

// Says why an option of the address cannot be used; empty: it can.
std::string Prepare(const Address& address, SSL_CTX* context) {
  const std::string ca = Option(address, "ca");
  const std::string cert = Option(address, "cert");
  const std::string key = Option(address, "key");
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NoteFault);
  if (ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_file(context, ca.c_str()) != 1) {
    return absl::StrCat("ca=", ca, " has no certificate in PEM");
  }
  if (cert.empty() != key.empty()) {
    return absl::StrCat(cert.empty() ? "key= needs cert=" : "cert= needs key=",
                        ": a certificate and its private key go together");
  }
  if (cert.empty()) return "";
  if (SSL_CTX_use_certificate_chain_file(context, cert.c_str()) != 1) {
    return absl::StrCat("cert=", cert, " has no certificate in PEM");
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) !=
      1) {
    return absl::StrCat("key=", key, " is not the private key of cert=", cert);
  }
  return "";
}

// Keeps the signal of a write to a closed connection from this thread, which
// OpenSSL's writes would get.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec now = {};
    while (sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

// Offers TLS on the socket. Returns 0, or OpenSSL's reason for the failure.
int Shake(const Address& address, int socket, SSL* ssl) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  const std::string name = Option(address, "name");
  const std::string host = name.empty() ? Split(address).host : name;
  SSL_set_tlsext_host_name(ssl, host.c_str());
  SSL_set_alpn_protos(ssl, kHttp2, sizeof kHttp2);
  ERR_clear_error();
  if (SSL_set_fd(ssl, socket) != 1 || SSL_connect(ssl) != 1) {
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    return reason == 0 ? SSL_R_UNEXPECTED_EOF_WHILE_READING : reason;
  }
  // In TLS 1.3 the other side looks at this one's certificate only now. If it
  // is content, it speaks first, as HTTP/2 has it.
  char byte = 0;
  if (SSL_read(ssl, &byte, 1) == 1) return 0;
  return ERR_GET_REASON(ERR_peek_last_error());
}

bool IsPlainText(int reason) {
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
         reason == SSL_R_PACKET_LENGTH_TOO_LONG;
}

absl::Status ExplainTls(const Address& address, int socket) {
  const Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) return NoConnection(address, "TLS cannot be used");
  std::string why = Prepare(address, context.get());
  if (!why.empty()) return NoConnection(address, why);
  bool asked = false;
  SSL_CTX_set_cert_cb(context.get(), NoteQuestion, &asked);
  const Connection ssl(SSL_new(context.get()), SSL_free);
  FaultyCertificate fault;
  SSL_set_app_data(ssl.get(), &fault);
  const int reason = Shake(address, socket, ssl.get());
  if (IsPlainText(reason)) {
    return NoConnection(address, absl::StrCat("it does not speak TLS: use tcp:",
                                              address.target));
  }
  if (SSL_get_peer_cert_chain(ssl.get()) != nullptr) {
    why = FaultOfCertificate(address, fault, ssl.get());
  }
  if (why.empty() && asked && reason != 0) {
    why = FaultOfOwnCertificate(address, ssl.get());
  }
  if (!why.empty()) return NoConnection(address, why);
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  return NoConnection(
      address,
      absl::StrCat("something answers, but not as a daemon",
                   text == nullptr ? "" : ": ", text == nullptr ? "" : text));
}

absl::Status ExplainPlain(const Address& address, int socket) {
  const Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const Connection ssl(context == nullptr ? nullptr : SSL_new(context.get()),
                       SSL_free);
  if (ssl != nullptr) {
    Shake(address, socket, ssl.get());
    if (SSL_get_peer_cert_chain(ssl.get()) != nullptr) {
      return NoConnection(
          address,
          absl::StrCat("it speaks TLS: use tls:", address.target, "?ca=FILE"));
    }
  }
  return NoConnection(address, "something answers, but not as a daemon");
}

}  // namespace

absl::Status ExplainFailedConnection(const Address& address,
                                     absl::Duration limit) {
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd socket,
                            ConnectSocket(address, limit));
  const WithoutSigpipe quiet;
  return address.kind == Address::Kind::kTls
             ? ExplainTls(address, socket.get())
             : ExplainPlain(address, socket.get());
}

}  // namespace holdfast
