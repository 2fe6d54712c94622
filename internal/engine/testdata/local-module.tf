module "m" {
  source = "./missing"
}
