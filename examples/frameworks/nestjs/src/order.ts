import { defineJob } from 'jobchart'

export const order = defineJob<{ item: string; packingMs: number }, { shipped: string }>({
  type: 'order',
  async run({ item, packingMs }, ctx) {
    await ctx.step('pack', () => new Promise<void>((resolve) => setTimeout(resolve, packingMs)))
    return { shipped: item }
  },
})
