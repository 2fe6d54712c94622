module "m" {
  source = "git::https://127.0.0.1:1/x.git"
}
