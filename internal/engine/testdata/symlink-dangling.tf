# link: m/gone.tf=nowhere.tf
module "m" { source = "./m" }
