import type { NextConfig } from 'next'

const config: NextConfig = {
  // It is loaded from node_modules, not bundled: the stores and the layout of charts have files of their own.
  serverExternalPackages: ['jobchart'],
  // The page of the dashboard is at the address that ends in a slash.
  skipTrailingSlashRedirect: true,
}

export default config
