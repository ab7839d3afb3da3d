// SPDX-License-Identifier: Apache-2.0
#include "client/bench/grpc_echo.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/bench/loopback_certificate.h"
#include "client/bench/workload.h"
#include "core/base/malloc_tuning.h"
#include "core/base/status_macros.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "holdfast/v1/transfers.grpc.pb.h"

namespace holdfast::bench {
namespace {

absl::Status Broken() {
  return absl::InternalError("the bare gRPC stream broke");
}

// Answers every batch with number 1, with as many bytes as it asks for; the
// others only cost their way.
class EchoService final : public v1::CommandService::Service {
 public:
  grpc::Status Run(grpc::ServerContext*, const v1::CommandBatch*,
                   v1::ResultBatch*) override {
    return grpc::Status::OK;
  }
  grpc::Status Execute(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::ResultBatch, v1::CommandBatch>* stream)
      override {
    v1::ResultBatch results;
    v1::Result& result = *results.add_results();
    result.set_sequence(1);
    for (v1::CommandBatch batch; stream->Read(&batch);) {
      if (batch.first_sequence() != 1) continue;
      const uint64_t size = batch.commands_size() > 0
                                ? batch.commands(0).read_buffer().size()
                                : 0;
      if (size != result.data().size()) result.set_data(std::string(size, 'x'));
      if (!stream->Write(results)) break;
    }
    return grpc::Status::OK;
  }
};

constexpr uint64_t kMessageBytes = 1 << 20;

// Takes what comes, and sends as much as is asked for.
class ByteService final : public v1::TransferService::Service {
 public:
  grpc::Status Upload(grpc::ServerContext*,
                      grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse* response) override {
    uint64_t size = 0;
    for (v1::UploadRequest request; reader->Read(&request);) {
      size += request.data().size();
    }
    response->set_size(size);
    return grpc::Status::OK;
  }

  grpc::Status Download(
      grpc::ServerContext*, const v1::DownloadRequest* request,
      grpc::ServerWriter<v1::DownloadResponse>* writer) override {
    v1::DownloadResponse response;
    response.set_data(std::string(kMessageBytes, 'x'));
    for (uint64_t sent = 0; sent < request->range().size();
         sent += kMessageBytes) {
      if (!writer->Write(response)) break;
    }
    return grpc::Status::OK;
  }
};

bool SendBytes(v1::TransferService::Stub& stub, uint64_t size) {
  grpc::ClientContext context;
  v1::UploadResponse response;
  const auto writer = stub.Upload(&context, &response);
  v1::UploadRequest request;
  request.set_data(std::string(kMessageBytes, 'x'));
  for (uint64_t sent = 0; sent < size; sent += kMessageBytes) {
    if (!writer->Write(request)) break;
  }
  writer->WritesDone();
  return writer->Finish().ok() && response.size() >= size;
}

bool ReceiveBytes(v1::TransferService::Stub& stub, uint64_t size) {
  grpc::ClientContext context;
  v1::DownloadRequest request;
  request.mutable_range()->set_size(size);
  const auto reader = stub.Download(&context, request);
  uint64_t received = 0;
  for (v1::DownloadResponse response; reader->Read(&response);) {
    received += response.data().size();
  }
  return reader->Finish().ok() && received >= size;
}

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(
    const LoopbackCertificate& certificate) {
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs = {{certificate.key, certificate.certificate}};
  return grpc::SslServerCredentials(options);
}

constexpr absl::string_view kEndOfCertificate = "-----END CERTIFICATE-----";

}  // namespace

absl::Status ServeGrpcEcho() {
  // As the daemon does: without, it reads half as fast.
  KeepFreedMemoryOfManyReads();
  std::string directory = "/tmp/holdfast-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, "mkdtemp");
  }
  const std::string socket = absl::StrCat(directory, "/echo.sock");
  EchoService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("unix:", socket),
                           grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  ByteService bytes;
  builder.RegisterService(&bytes);
  int tcp_port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &tcp_port);
  HOLDFAST_ASSIGN_OR_RETURN(const auto certificate,
                            LoopbackCertificate::Make());
  int tls_port = 0;
  builder.AddListeningPort("127.0.0.1:0", TlsCredentials(certificate),
                           &tls_port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr) {
    std::printf("unix:%s\n127.0.0.1:%d\n127.0.0.1:%d\n%s", socket.c_str(),
                tcp_port, tls_port, certificate.certificate.c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    server->Shutdown(std::chrono::system_clock::now());
  }
  unlink(socket.c_str());
  rmdir(directory.c_str());
  return server == nullptr ? Broken() : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GrpcEcho>> GrpcEcho::Start() {
  HOLDFAST_ASSIGN_OR_RETURN(auto server, BenchProcess::Start({"--echo"}));
  const std::string address = server->ReadLine();
  if (address.empty()) return Broken();
  std::unique_ptr<GrpcEcho> echo(new GrpcEcho(std::move(server)));
  echo->tcp_address_ = echo->server_->ReadLine();
  echo->tls_address_ = echo->server_->ReadLine();
  for (std::string line = "-"; !line.empty() && line != kEndOfCertificate;) {
    line = echo->server_->ReadLine();
    absl::StrAppend(&echo->certificate_, line, "\n");
  }
  echo->stub_ = v1::CommandService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  return echo;
}

std::shared_ptr<grpc::Channel> GrpcEcho::Connect(Network network) const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (network == Network::kTcp) {
    return grpc::CreateCustomChannel(
        tcp_address_, grpc::InsecureChannelCredentials(), arguments);
  }
  return grpc::CreateCustomChannel(
      tls_address_, grpc::SslCredentials({.pem_root_certs = certificate_}),
      arguments);
}

template <typename Measure>
absl::StatusOr<Summary> GrpcEcho::OnStream(v1::CommandService::Stub& stub,
                                           Measure measure) {
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub.Execute(&context);
  absl::StatusOr<Summary> summary = measure(*stream);
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  if (summary.ok() && !status.ok()) return Broken();
  return summary;
}

absl::StatusOr<Summary> GrpcEcho::PingPong(v1::CommandService::Stub& stub,
                                           const v1::CommandBatch& ping,
                                           int count) {
  return OnStream(stub, [count, &ping](Stream& stream) {
    v1::ResultBatch pong;
    return TimeEach(100, count, [&]() -> absl::Status {
      if (!stream.Write(ping) || !stream.Read(&pong)) return Broken();
      return absl::OkStatus();
    });
  });
}

absl::StatusOr<Summary> GrpcEcho::PingPong(int count) {
  v1::CommandBatch ping;
  ping.set_first_sequence(1);
  return PingPong(*stub_, ping, count);
}

absl::StatusOr<Summary> GrpcEcho::PingPong(Network network, int count,
                                           uint64_t bytes_there,
                                           uint64_t bytes_back) {
  v1::CommandBatch ping;
  ping.set_first_sequence(1);
  ping.add_commands()->mutable_read_buffer()->set_size(bytes_back);
  ping.add_commands()->mutable_write_buffer()->set_data(
      std::string(bytes_there, 'x'));
  const auto stub = v1::CommandService::NewStub(Connect(network));
  return PingPong(*stub, ping, count);
}

absl::StatusOr<Summary> GrpcEcho::UnaryCall(int count) {
  return TimeEach(100, count, [this]() -> absl::Status {
    grpc::ClientContext context;
    v1::ResultBatch nothing;
    return stub_->Run(&context, {}, &nothing).ok() ? absl::OkStatus()
                                                   : Broken();
  });
}

absl::StatusOr<Summary> GrpcEcho::CommandRate(int commands_a_message,
                                              int messages) {
  return OnStream(*stub_, [=](Stream& stream) {
    v1::CommandBatch commands;
    commands.set_first_sequence(2);
    for (int i = 0; i < commands_a_message; ++i) {
      commands.add_commands()->mutable_free_buffer()->set_buffer(i + 1);
    }
    v1::CommandBatch last;
    last.set_first_sequence(1);
    v1::ResultBatch end;
    const double work = 1.0 * commands_a_message * messages;
    return RateOf(kRounds, work, [&]() -> absl::Status {
      for (int i = 0; i < messages; ++i) {
        if (!stream.Write(commands)) return Broken();
      }
      if (!stream.Write(last) || !stream.Read(&end)) return Broken();
      return absl::OkStatus();
    });
  });
}

absl::StatusOr<Summary> GrpcEcho::ByteRate(Network network, Direction direction,
                                           uint64_t size, int calls) {
  std::vector<std::unique_ptr<v1::TransferService::Stub>> stubs;
  stubs.reserve(static_cast<size_t>(calls));
  for (int i = 0; i < calls; ++i) {
    stubs.push_back(v1::TransferService::NewStub(Connect(network)));
  }
  const auto transfer =
      direction == Direction::kIn ? &SendBytes : &ReceiveBytes;
  return CopyRate(size, [&]() -> absl::Status {
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    threads.reserve(stubs.size());
    for (const auto& stub : stubs) {
      threads.emplace_back([&] {
        if (!transfer(*stub, size / stubs.size())) ++failed;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return failed == 0 ? absl::OkStatus() : Broken();
  });
}

}  // namespace holdfast::bench
