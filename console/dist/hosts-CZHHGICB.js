import{g as a,h as b}from"./chunk-VXYIAPZ3.js";import"./chunk-L7PZYR6B.js";import"./chunk-YSWWPPCJ.js";export{b as State,a as default};
