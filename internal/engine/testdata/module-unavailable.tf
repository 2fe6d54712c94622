# registry
# answer: GET 400 no
module "m" { source = "registry.test/a/b/c" }
