import DefaultTheme from 'vitepress/theme'
import Live from './Live.vue'
import Run from './Run.vue'
import type { Theme } from 'vitepress'

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component('Live', Live).component('Run', Run),
} satisfies Theme
