package detect

import "strings"

// clouds recognises providers by what the firmware says. Only Amazon's says
// the instance type too. No file with a serial number or a UUID is read.
var clouds = []struct {
	file, has string
	name      string
	typed     bool // product_name is the instance type
}{
	{"sys_vendor", "Amazon EC2", "EC2", true},
	{"bios_vendor", "Amazon EC2", "EC2", true},
	{"sys_vendor", "Google", "GCE", false},
	{"chassis_asset_tag", azureTag, "Azure", false},
	{"chassis_asset_tag", "OracleCloud.com", "OCI", false},
	{"sys_vendor", "Alibaba Cloud", "Alibaba Cloud", false},
	{"sys_vendor", "DigitalOcean", "DigitalOcean", false},
	{"sys_vendor", "Hetzner", "Hetzner", false},
	{"sys_vendor", "OpenStack Foundation", "OpenStack", false},
}

// azureTag is what every Azure machine carries: it is public and the same everywhere.
const azureTag = "7783-7084-3265-9085-8269-3286-77"

// lookInstance returns the cloud and its instance type, "" on other machines.
func lookInstance(m *Machine) string {
	const dmi = "sys/class/dmi/id/"
	for _, c := range clouds {
		if !strings.Contains(m.textOf(dmi+c.file), c.has) {
			continue
		}
		product := m.textOf(dmi + "product_name")
		if c.typed && product != "" {
			return c.name + " " + product
		}
		return c.name
	}
	return ""
}
