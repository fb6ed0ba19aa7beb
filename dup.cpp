#include "chk.hpp"
int main(){
  using L=Topology<Axis<"a",2>>;
  auto P=place<"a">(Shard<0>{}); auto Q=place<"a">(Replicate{});
  TensorLayout f(TensorSpec{"w",{6}},L(),P); TensorLayout t(TensorSpec{"w",{6}},L(),Q);
  GroupLayout from(std::vector{f},L()); GroupLayout to(std::vector{t,t},L());
  try{ auto l=transfer_list(from,to); std::printf("no throw, %zu transfers\n",l.size()); std::int64_t n=0; for(auto&x:l) n+=x.elements; std::printf("%ld elements of %d\n",(long)n,24);}catch(const Error&e){std::puts(e.what());}
}
